# What scripts/page and scripts/npm need to compile WebAssembly, for both: Debian's compiler, a C++
# library from npm, sources from Debian's source packages. Sourced by them in the project's folder,
# with `name`, which messages begin with, and `log`, a file for what is only shown when something
# fails.
#
# SPDX-License-Identifier: MIT

wasm=$PWD/build/wasm
retries=$PWD/scripts/with_retries
mkdir -p "$wasm/sources"
: >"$log"
step() { echo "$name: $* ($SECONDS s)" >&2; }
# Runs a command; its output is shown only if it fails.
quietly() {
  local status=$1 what=$2
  shift 2
  "$@" >>"$log" 2>&1 && return
  tail -n 40 "$log" >&2
  echo "$name: error: $what" >&2
  exit "$status"
}

install_library() {
  mkdir -p "$wasm/npm" && cp scripts/browser/package*.json "$wasm/npm/" &&
    (cd "$wasm/npm" && "$retries" npm ci --no-audit --no-fund) &&
    rm -rf "$wasm/sysroot.new" && mkdir "$wasm/sysroot.new" &&
    tar -C "$wasm/sysroot.new" -xf "$wasm/npm/node_modules/@yowasp/clang/gen/llvm-resources.tar" &&
    rm -rf "$wasm/sysroot" && mv "$wasm/sysroot.new" "$wasm/sysroot" &&
    cp scripts/browser/package-lock.json "$wasm/sysroot/installed.json"
}

# Lists of source packages of our own, because most machines have none; apt checks signatures.
list_sources() {
  local list
  export APT_CONFIG=$wasm/apt/apt.conf
  rm -rf "$wasm/apt" && mkdir -p "$wasm"/apt/{parts,lists/partial,cache/archives/partial} || return
  for list in /etc/apt/sources.list.d/*.sources; do
    [[ -e $list ]] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$wasm/apt/parts/${list##*/}"
  done
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $list ]] && sed 's/^deb /deb-src /' "$list" >"$wasm/apt/parts/debian-${list##*/}"
  done
  [[ -e $wasm/apt/parts/debian-sources.list ]] &&
    mv "$wasm/apt/parts/debian-sources.list" "$wasm/apt/parts/debian.list"
  cat >"$APT_CONFIG" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$wasm/apt/parts";
Dir::State::Lists "$wasm/apt/lists";
Dir::Cache "$wasm/apt/cache";
END
  "$retries" apt-get --quiet update
}

# Downloads a source package: the newest version, or an older one where a mirror lists a version
# whose files it does not have.
download_source() {
  local package=$1 version
  "$retries" apt-get --quiet source --download-only "$package" && return
  for version in $(apt-cache showsrc --only-source "$package" | sed --quiet 's/^Version: //p' |
    sort --version-sort --reverse --unique | tail --lines=+2); do
    rm -f "$package"_*
    "$retries" apt-get --quiet source --download-only "$package=$version" && return
  done
  return 1
}

# Unpacks files of a source package into $wasm/sources/FOLDER.
unpack_source() {
  local package=$1 to=$wasm/sources/$2
  shift 2
  rm -rf "$to.new" && mkdir "$to.new" &&
    (cd "$wasm/apt" && download_source "$package") &&
    tar -C "$to.new" --strip-components=1 --wildcards -xf "$wasm/apt/${package}"_*.orig.tar.* "$@" &&
    rm -rf "$to" && mv "$to.new" "$to"
}

# Gets the compiler, the library and the named sources, as far as they are missing: llvm, boost,
# yaml-cpp, zlib.
prepare() {
  local source
  step "packages"
  scripts/install_dependencies build page || exit 4
  if ! cmp --silent scripts/browser/package-lock.json "$wasm/sysroot/installed.json"; then
    step "C++ library"
    quietly 4 "npm cannot install the C++ library" install_library
  fi
  for source; do
    [[ ! -d $wasm/sources/$source ]] || continue
    step "source of $source"
    [[ -e $wasm/apt/apt.conf ]] || quietly 4 "apt-get cannot list source packages" list_sources
    export APT_CONFIG=$wasm/apt/apt.conf
    case $source in
      llvm) set -- llvm-toolchain-19 llvm '*/libcxxabi/include/*' '*/libcxxabi/src/*' \
        '*/libunwind/include/*' '*/libunwind/src/*' '*/libcxx/src/*' ;;
      boost) set -- "boost$(dpkg-query --show --showformat='${Version}' libboost-dev |
        grep --only-matching '^[0-9]*\.[0-9]*')" boost '*/libs/program_options/src/*' ;;
      yaml-cpp) set -- yaml-cpp yaml-cpp '*/include/*' '*/src/*' ;;
      zlib) set -- zlib zlib '*/adler32.c' '*/crc32.[ch]' '*/inf*.[ch]' '*/gzguts.h' '*/zconf.h' \
        '*/zlib.h' '*/zutil.[ch]' ;;
    esac
    quietly 4 "apt-get cannot get the source package $1" unpack_source "$@"
  done
  unset APT_CONFIG
  rm -rf "$wasm/apt"
}

# Builds a target of scripts/cmake/browser.
compile() {
  quietly 1 "$1 cannot be configured" cmake -S scripts/cmake/browser -B "$wasm/build" \
    -G Ninja -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_TOOLCHAIN_FILE=$PWD/scripts/cmake/browser/wasm32.cmake" \
    "-DRETRYSIM_SYSROOT=$wasm/sysroot" "-DRETRYSIM_SOURCES=$wasm/sources"
  quietly 1 "$1 does not build" cmake --build "$wasm/build" --target "$1"
}
