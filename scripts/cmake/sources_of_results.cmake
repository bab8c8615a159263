# Writes OUTPUT, a source file with a hash of all sources that decide what a simulation's results
# are. Called by the build whenever one of FILES has changed: cmake -DROOT=... -DOUTPUT=...
# "-DFILES=a;b" -P this.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 32 hash)
file(WRITE ${OUTPUT} "// Made by scripts/cmake/sources_of_results.cmake.
namespace retrysim::execution {
extern const char* const kSourcesOfResults;
const char* const kSourcesOfResults = \"${hash}\";
}  // namespace retrysim::execution
")
