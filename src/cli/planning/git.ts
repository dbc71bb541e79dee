import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Most output of git: the largest file that is read from a revision, and the longest list of files. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** What git prints. Throws with a `code` where it fails, or is not installed. */
export async function git(args: readonly string[], cwd = process.cwd()): Promise<string> {
  return (await run('git', args, { cwd, maxBuffer: MAX_OUTPUT_BYTES })).stdout
}
