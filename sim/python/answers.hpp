// The answers to questions as Python gets them: the tables of the C++ library, and the text, the
// document and the folder that the command of that name makes of the same result.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/risk.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/size.hpp>
#include <retrysim/table.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {
class Document;
class ResultFolder;
struct ResultIdentity;
}  // namespace retrysim::report

namespace retrysim::python {

/// A scenario file, or text that lies in a file of its own, with edits.
struct Source {
  std::filesystem::path file;
  std::vector<std::string> edits;  ///< PATH=VALUE
};

/// What a question found. Not for use by several threads at once.
class Answer {
 public:
  /// What `state` keeps alive: the result, and all that the functions refer to.
  struct Parts {
    std::shared_ptr<const void> state;
    std::function<Tables()> tables;              ///< called for the first one that is asked for
    std::function<report::Document()> document;  ///< empty: the command writes none
    std::function<report::ResultIdentity()> identity = {};
    /// Writes the files of the folder; empty: those of the document.
    std::function<void(report::ResultFolder&)> write = {};
    /// Single facts that no table has, by name: the name of the best policy, say.
    std::map<std::string, std::string> facts = {};
    std::shared_ptr<const LoadedScenario> scenario =
        nullptr;  ///< the resolved one, if there is one
  };
  explicit Answer(Parts parts) : parts_(std::move(parts)) {}

  std::vector<std::string> names() { return tables().names(); }
  std::shared_ptr<const Table> table(const std::string& name);
  /// What the command prints.
  std::string text(std::size_t columns) const;
  /// result.json, without checksums; nothing if only `save` makes it.
  std::optional<std::string> json() const;
  /// Writes the folder that the command writes. Throws report::OutputError.
  void save(const std::filesystem::path& folder, bool force) const;
  const std::map<std::string, std::string>& facts() const { return parts_.facts; }
  const std::shared_ptr<const LoadedScenario>& scenario() const { return parts_.scenario; }

 private:
  const Tables& tables();

  Parts parts_;
  std::optional<Tables> tables_;
};

// The questions. Each throws what the function of the library throws.

Answer answer_run(LoadedScenario scenario, const ReplicationOptions& options);

Answer answer_uncertain(const Source& source, int draws, const ReplicationOptions& options);

struct VariantsAsked {
  Source source;
  std::vector<std::string> vary;   ///< as `parse_variations` takes them
  std::vector<std::string> files;  ///< "NAME=FILE"
  std::string baseline;            ///< empty: the first
};
Answer answer_compare(const VariantsAsked& asked, const std::vector<std::string>& metrics,
                      bool twin, const ReplicationOptions& options);

/// Of `draws` draws of what is uncertain, with each variant.
Answer answer_compare_uncertain(const VariantsAsked& asked, int draws,
                                const std::vector<std::string>& metrics,
                                const ReplicationOptions& options);

struct AimAsked {
  std::string metric;
  bool maximize = true;
  std::string client = "all";
  std::vector<std::string> limits;  ///< "METRIC>=VALUE"
  double confidence = 0.95;
  std::optional<double> indifference;
  std::size_t max_replications = 1000;
};
Answer answer_choose(const VariantsAsked& asked, const AimAsked& aim,
                     const ReplicationOptions& options);

/// Its tables read the points from `store` when they are asked for; null: from memory.
Answer answer_sweep(const Source& source, const std::vector<std::string>& vary,
                    std::shared_ptr<Store> store, const ReplicationOptions& options);

Answer answer_tip(const Source& source, const std::string& trigger,
                  const std::vector<std::string>& vary, double tolerance,
                  const ReplicationOptions& options);

/// With `vary`, as `parse_variations` takes it, a search for each combination of these values.
Answer answer_size(const SizeRequest& request, const std::vector<std::string>& vary,
                   const ReplicationOptions& options);

/// `per` as the command takes it: "30d".
Answer answer_risk(RiskRequest request, const std::string& per, const std::string& repair,
                   const ReplicationOptions& options);

Answer answer_advise(const Source& source, const ReplicationOptions& options);

Answer answer_predict(LoadedScenario scenario);

/// `upgrade` as for the command: "botocore@1.43.3..1.44.0".
Answer answer_sdk_upgrade(const std::string& upgrade, const Source& source,
                          const ReplicationOptions& options);

}  // namespace retrysim::python
