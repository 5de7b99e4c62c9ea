//! The programs, and by which of their options and words they write.

/// What happens to the words that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Nobody knows: what looks like a path may be touched.
    Any,
    /// All are written.
    Written,
    /// The first is written, the others are read.
    FirstWritten,
    /// The last of several is written.
    LastWritten,
}

pub(super) struct Row {
    pub(super) names: &'static [&'static str],
    /// Options whose value is a file that is written. A short one may have its value in the same word, a long one
    /// behind `=`.
    pub(super) file: &'static [&'static str],
    /// The same for a folder in which anything may be written.
    pub(super) folder: &'static [&'static str],
    /// Options whose value is read, or is no file.
    pub(super) other: &'static [&'static str],
    /// Options without which the words are not written, where [`Words`] says they are. Empty: always.
    pub(super) only_with: &'static [&'static str],
    /// Options with which nothing is written.
    pub(super) never_with: &'static [&'static str],
    pub(super) words: Words,
    /// How many words stand before those: the work, a pattern.
    pub(super) skip: usize,
}

const ROW: Row =
    Row { names: &[], file: &[], folder: &[], other: &[], only_with: &[], never_with: &[], words: Words::Any, skip: 0 };
const IN_PLACE: Row = Row { words: Words::Written, ..ROW };

pub(super) const ROWS: &[Row] = &[
    // In place.
    Row { names: &["gofmt", "goimports", "gofumpt", "shfmt"], only_with: &["-w", "--write"], ..IN_PLACE },
    Row { names: &["prettier", "biome", "codespell", "typos"], only_with: &["--write", "-w", "--apply"], ..IN_PLACE },
    Row {
        names: &["black", "isort", "rustfmt", "pyupgrade", "stylua", "nixfmt", "buildifier", "swiftformat", "scalafmt"],
        never_with: &["--check", "--check-only", "--diff", "--version", "--help", "-c", "-mode=check", "--test"],
        ..IN_PLACE
    },
    Row {
        names: &["autopep8", "autoflake", "yapf", "clang-format", "swift-format", "jsonnetfmt", "yq"],
        only_with: &["-i", "--in-place", "--inplace"],
        ..IN_PLACE
    },
    Row {
        names: &["eslint", "stylelint", "tslint", "oxlint", "standard", "xo", "markdownlint", "pylint", "htmlhint"],
        file: &["-o", "--output-file"],
        only_with: &["--fix"],
        ..IN_PLACE
    },
    Row {
        names: &["rubocop", "standardrb"],
        only_with: &["-a", "-A", "--autocorrect", "--autocorrect-all"],
        ..IN_PLACE
    },
    Row { names: &["ktlint"], only_with: &["-F", "--format"], ..IN_PLACE },
    Row {
        names: &["phpcbf", "dos2unix", "unix2dos", "fromdos", "todos", "optipng", "jpegoptim", "strip", "ranlib"],
        ..IN_PLACE
    },
    Row { names: &["ruff"], never_with: &["--check", "--diff"], file: &["-o", "--output-file"], skip: 1, ..IN_PLACE },
    Row { names: &["sd"], never_with: &["-p", "--preview"], skip: 2, ..IN_PLACE },
    Row {
        names: &["patch"],
        file: &["-o", "--output", "-r", "--reject-file"],
        folder: &["-d", "--directory"],
        other: &["-i", "--input", "-p", "--strip", "-F", "--fuzz", "-D", "--ifdef", "-B", "-V", "-Y", "-z"],
        words: Words::FirstWritten,
        ..ROW
    },
    Row { names: &["virtualenv", "mktemp"], folder: &["-p", "--tmpdir"], ..IN_PLACE },
    // As the first or the last word.
    Row { names: &["sqlite3"], never_with: &["-readonly", "--readonly"], words: Words::FirstWritten, ..ROW },
    Row { names: &["zip"], folder: &["-b"], words: Words::FirstWritten, ..ROW },
    Row {
        names: &["ffmpeg", "convert", "magick", "montage", "sox", "wkhtmltopdf", "sass", "lessc", "pdftotext", "cwebp"],
        file: &["-o"],
        words: Words::LastWritten,
        ..ROW
    },
    // By options.
    Row {
        names: &["curl"],
        file: &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--hsts",
            "--alt-svc",
            "--etag-save",
        ],
        folder: &["--output-dir"],
        ..ROW
    },
    Row {
        names: &["wget", "wget2"],
        file: &[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-a",
            "--append-output",
            "--save-cookies",
            "--rejected-log",
            "--warc-file",
            "--hsts-file",
        ],
        folder: &["-P", "--directory-prefix"],
        ..ROW
    },
    Row { names: &["aria2c", "axel"], file: &["-o", "--out", "-l", "--log"], folder: &["-d", "--dir"], ..ROW },
    Row { names: &["yt-dlp"], file: &["-o", "--output"], folder: &["-P", "--paths"], ..ROW },
    Row {
        names: &["openssl"],
        file: &["-out", "-keyout", "-writerand", "-sess_out", "-keylogfile"],
        folder: &["-outdir"],
        ..ROW
    },
    Row { names: &["gpg", "gpg2"], file: &["-o", "--output"], folder: &["--homedir"], ..ROW },
    Row { names: &["age", "age-keygen", "minisign", "cosign"], file: &["-o", "--output"], ..ROW },
    Row {
        names: &[
            "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "nasm", "yasm", "ar", "swiftc", "ghc", "zig",
        ],
        file: &["-o", "-MF", "-dumpbase"],
        folder: &["-outputdir"],
        ..ROW
    },
    Row { names: &["rustc"], file: &["-o"], folder: &["--out-dir"], ..ROW },
    Row {
        names: &["go"],
        file: &["-o", "-coverprofile", "-cpuprofile", "-memprofile", "-trace"],
        folder: &["-C", "-outputdir"],
        ..ROW
    },
    Row { names: &["cargo"], folder: &["--target-dir", "--root", "--artifact-dir", "--out-dir", "-C"], ..ROW },
    Row {
        names: &["npm", "pnpm", "yarn", "bun"],
        folder: &["--prefix", "-C", "--dir", "--cwd", "--cache", "--pack-destination", "--modules-folder"],
        ..ROW
    },
    Row {
        names: &["pip", "pip3"],
        file: &["--log", "--report"],
        folder: &["-t", "--target", "--root", "--prefix", "-d", "--dest", "-w", "--wheel-dir", "--cache-dir", "--src"],
        ..ROW
    },
    Row { names: &["bundle"], folder: &["--path"], ..ROW },
    Row { names: &["gem"], folder: &["-i", "--install-dir", "-n", "--bindir"], ..ROW },
    Row { names: &["make", "gmake", "ninja"], folder: &["-C", "--directory"], ..ROW },
    Row { names: &["cmake"], folder: &["-B", "--build", "--install", "--prefix"], ..ROW },
    Row { names: &["meson"], folder: &["-C"], ..ROW },
    Row { names: &["gradle", "gradlew"], folder: &["-p", "--project-dir", "-g", "--gradle-user-home"], ..ROW },
    Row { names: &["bazel"], folder: &["--output_base", "--output_user_root"], ..ROW },
    Row { names: &["javac", "kotlinc", "scalac", "javadoc"], folder: &["-d", "-s", "-h"], ..ROW },
    Row {
        names: &["tsc", "esbuild", "vite", "webpack", "rollup", "parcel", "babel", "swc", "uglifyjs", "terser"],
        file: &["--outFile", "--outfile", "--out-file", "--file", "-o", "--output", "--tsBuildInfoFile", "--metafile"],
        folder: &[
            "--outDir",
            "--outdir",
            "--out-dir",
            "--output-path",
            "--dist-dir",
            "--dir",
            "--declarationDir",
            "-d",
        ],
        ..ROW
    },
    Row {
        names: &["protoc"],
        file: &["-o", "--descriptor_set_out", "--dependency_out"],
        folder: &[
            "--cpp_out",
            "--go_out",
            "--java_out",
            "--python_out",
            "--js_out",
            "--ts_out",
            "--rust_out",
            "--csharp_out",
            "--ruby_out",
            "--php_out",
            "--grpc_out",
            "--go-grpc_out",
            "--doc_out",
        ],
        ..ROW
    },
    Row {
        names: &[
            "pandoc",
            "dot",
            "neato",
            "inkscape",
            "gs",
            "asciidoctor",
            "typst",
            "iconv",
            "jsonnet",
            "xmllint",
            "xsltproc",
            "qemu-img",
            "bison",
            "flex",
            "yacc",
            "objcopy",
        ],
        file: &["-o", "--output", "--output-file", "--out-file", "--export-filename"],
        ..ROW
    },
    Row {
        names: &["pdflatex", "xelatex", "lualatex", "latexmk"],
        folder: &["-output-directory", "--output-directory", "-outdir"],
        ..ROW
    },
    Row { names: &["shuf"], file: &["-o", "--output"], ..ROW },
    Row { names: &["csplit"], file: &["-f", "--prefix"], ..ROW },
    Row { names: &["strace", "ltrace", "gtime"], file: &["-o", "--output"], ..ROW },
    Row {
        names: &["pytest"],
        file: &["--junitxml", "--junit-xml", "--log-file", "--result-log"],
        folder: &["--basetemp", "--cov-report"],
        ..ROW
    },
    Row {
        names: &["coverage", "hyperfine", "lcov", "gcovr"],
        file: &["-o", "--output", "--output-file", "--export-json", "--export-csv", "--export-markdown", "--data-file"],
        folder: &["-d", "--directory"],
        ..ROW
    },
    Row { names: &["pg_dump", "mysqldump", "pg_dumpall"], file: &["-f", "--file", "-r", "--result-file"], ..ROW },
    Row { names: &["docker", "podman"], file: &["--iidfile", "--cidfile", "--metadata-file"], ..ROW },
    Row {
        names: &["terraform", "tofu"],
        file: &["-out", "-state", "-state-out", "-backup"],
        folder: &["-chdir"],
        ..ROW
    },
    Row { names: &["kubectl", "helm"], folder: &["--output-dir", "--cache-dir", "-d", "--destination"], ..ROW },
    Row { names: &["tcpdump", "tshark"], file: &["-w"], ..ROW },
    Row { names: &["nmap"], file: &["-oN", "-oX", "-oG", "-oA", "-oS"], ..ROW },
    Row { names: &["systemd-run", "journalctl"], file: &["--output-file"], ..ROW },
];
