/** The content of a file: a text, or bytes. */
export type Content = string | Uint8Array;

export interface Io {
  /** What the command reads from standard input, where it is told to ("-"). */
  stdin?: Content;
  /** Takes what the command prints, as soon as it does. */
  stdout?: (bytes: Uint8Array) => void;
  stderr?: (bytes: Uint8Array) => void;
  /** Environment variables, of which there are none else. */
  env?: Record<string, string>;
  /** The width of tables and texts (default: 80). */
  columns?: number;
  /** Ends the command when it aborts; the promise is then rejected with its reason. */
  signal?: AbortSignal;
}

export interface Outcome {
  /** The exit status, as `retrysim --help` explains it: 0 if all is well. */
  status: number;
  /** All that was printed. */
  stdout: string;
  stderr: string;
  /** The files that the command has written, by their paths. */
  files: Record<string, Uint8Array>;
}

/**
 * Runs a command of retrysim over files in memory, in a thread of its own.
 *
 *     const { files } = await run(["run", "x.toml", "--out", "result"], { "x.toml": text });
 *     JSON.parse(new TextDecoder().decode(files["result/result.json"]));
 *
 * `args` are those of the command line; `files` are all the files that the command sees, by their
 * paths. A command that fails is no exception: see `status` and `stderr`.
 */
export function run(args: string[], files?: Record<string, Content>, io?: Io): Promise<Outcome>;
