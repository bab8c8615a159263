// SPDX-License-Identifier: MIT
#include "python/arrow.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

// The structures of the C data and C stream interface, as Arrow's specification has them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace retrysim::python {
namespace {

namespace py = pybind11;

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// --- Schemas -------------------------------------------------------------------------------------

/// What a schema points to. The consumer may move the schema itself, but not its children.
struct SchemaParts {
  std::string format, name, metadata;
  std::deque<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void release_schema(ArrowSchema* schema) {
  for (std::int64_t i = 0; i < schema->n_children; ++i) {
    ArrowSchema* child = schema->children[i];
    if (child->release != nullptr) child->release(child);
  }
  if (schema->dictionary != nullptr && schema->dictionary->release != nullptr) {
    schema->dictionary->release(schema->dictionary);
  }
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

void append_length(std::string& bytes, std::size_t length) {
  const auto value = static_cast<std::int32_t>(length);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// One key with its value, in Arrow's encoding.
std::string metadata_of(std::string_view key, std::string_view value) {
  std::string bytes;
  append_length(bytes, 1);
  append_length(bytes, key.size());
  bytes += key;
  append_length(bytes, value.size());
  bytes += value;
  return bytes;
}

void fill(ArrowSchema& schema, std::unique_ptr<SchemaParts> parts, std::int64_t flags) {
  for (ArrowSchema& child : parts->children) parts->pointers.push_back(&child);
  schema = {};
  schema.format = parts->format.c_str();
  schema.name = parts->name.c_str();
  schema.metadata = parts->metadata.empty() ? nullptr : parts->metadata.c_str();
  schema.flags = flags;
  schema.n_children = static_cast<std::int64_t>(parts->pointers.size());
  schema.children = parts->pointers.data();
  schema.dictionary = parts->dictionary.get();
  schema.release = release_schema;
  schema.private_data = parts.release();
}

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::kReal:
      return "g";
    case ColumnType::kInteger:
      return "l";
    case ColumnType::kText:
      return "i";  // of the codes
    case ColumnType::kTruth:
      return "b";
  }
  return "";
}

void fill(ArrowSchema& schema, const Column& column) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = format_of(column.type());
  parts->name = column.name();
  if (!column.unit().empty()) parts->metadata = metadata_of("unit", column.unit());
  if (column.type() == ColumnType::kText) {
    auto categories = std::make_unique<SchemaParts>();
    categories->format = "u";
    parts->dictionary = std::make_unique<ArrowSchema>();
    fill(*parts->dictionary, std::move(categories), 0);
  }
  fill(schema, std::move(parts), kNullable);
}

void fill(ArrowSchema& schema, const Table& table) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = "+s";
  for (const Column& column : table.columns()) fill(parts->children.emplace_back(), column);
  fill(schema, std::move(parts), 0);
}

// --- Arrays --------------------------------------------------------------------------------------

struct ArrayParts {
  std::shared_ptr<const Table> table;  // owns the bytes of all buffers
  std::vector<const void*> buffers;
  std::deque<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void release_array(ArrowArray* array) {
  for (std::int64_t i = 0; i < array->n_children; ++i) {
    ArrowArray* child = array->children[i];
    if (child->release != nullptr) child->release(child);
  }
  if (array->dictionary != nullptr && array->dictionary->release != nullptr) {
    array->dictionary->release(array->dictionary);
  }
  delete static_cast<ArrayParts*>(array->private_data);
  array->release = nullptr;
}

void fill(ArrowArray& array, std::unique_ptr<ArrayParts> parts, std::size_t length,
          std::size_t missing) {
  for (ArrowArray& child : parts->children) parts->pointers.push_back(&child);
  array = {};
  array.length = static_cast<std::int64_t>(length);
  array.null_count = static_cast<std::int64_t>(missing);
  array.n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  array.buffers = parts->buffers.data();
  array.n_children = static_cast<std::int64_t>(parts->pointers.size());
  array.children = parts->pointers.data();
  array.dictionary = parts->dictionary.get();
  array.release = release_array;
  array.private_data = parts.release();
}

const void* values_of(const Column& column) {
  switch (column.type()) {
    case ColumnType::kReal:
      return column.reals().data();
    case ColumnType::kInteger:
      return column.integers().data();
    case ColumnType::kText:
      return column.codes().data();
    case ColumnType::kTruth:
      return column.truths().data();
  }
  return nullptr;
}

void fill(ArrowArray& array, const std::shared_ptr<const Table>& table, const Column& column) {
  auto parts = std::make_unique<ArrayParts>();
  parts->table = table;
  parts->buffers = {column.missing() > 0 ? column.validity().data() : nullptr, values_of(column)};
  if (column.type() == ColumnType::kText) {
    auto categories = std::make_unique<ArrayParts>();
    categories->table = table;
    categories->buffers = {nullptr, column.category_offsets().data(),
                           column.category_bytes().data()};
    parts->dictionary = std::make_unique<ArrowArray>();
    fill(*parts->dictionary, std::move(categories), column.categories(), 0);
  }
  fill(array, std::move(parts), column.size(), column.missing());
}

void fill(ArrowArray& array, const std::shared_ptr<const Table>& table) {
  auto parts = std::make_unique<ArrayParts>();
  parts->table = table;
  parts->buffers = {nullptr};
  for (const Column& column : table->columns()) fill(parts->children.emplace_back(), table, column);
  fill(array, std::move(parts), table->rows(), 0);
}

// --- Streams -------------------------------------------------------------------------------------

struct StreamParts {
  std::shared_ptr<const Table> table;
  bool given = false;
};

// Called by C: an exception must not leave.
template <class F>
int status_of(F&& work) {
  try {
    work();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return status_of([&] { fill(*out, *static_cast<StreamParts*>(stream->private_data)->table); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  return status_of([&] {
    auto& parts = *static_cast<StreamParts*>(stream->private_data);
    *out = {};  // the end
    if (!parts.given) fill(*out, parts.table);
    parts.given = true;
  });
}

const char* get_last_error(ArrowArrayStream*) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamParts*>(stream->private_data);
  stream->release = nullptr;
}

/// Releases what nobody has taken out of the capsule.
template <class T>
void destroy_capsule(PyObject* capsule) {
  auto* held = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (held == nullptr) return PyErr_WriteUnraisable(capsule);
  if (held->release != nullptr) held->release(held);
  delete held;
}

template <class T>
py::capsule capsule_of(std::unique_ptr<T> content, const char* name) {
  PyObject* capsule = PyCapsule_New(content.get(), name, destroy_capsule<T>);
  if (capsule == nullptr) throw py::error_already_set();
  content.release();  // NOLINT: the capsule has it now
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace

py::capsule arrow_schema(const Table& table) {
  auto schema = std::make_unique<ArrowSchema>();
  fill(*schema, table);
  return capsule_of(std::move(schema), "arrow_schema");
}

py::capsule arrow_stream(std::shared_ptr<const Table> table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {};
  auto parts = std::make_unique<StreamParts>();
  parts->table = std::move(table);
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = get_last_error;
  stream->release = release_stream;
  stream->private_data = parts.release();
  return capsule_of(std::move(stream), "arrow_array_stream");
}

}  // namespace retrysim::python
