import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Most output of git: the largest file that is read from a revision, and the longest list of files. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** Objects by their ids, in that order. Throws as {@link git}. */
export async function gitObjects(ids: readonly string[], cwd: string): Promise<readonly Buffer[]> {
  const reading = run('git', ['cat-file', '--batch'], { cwd, maxBuffer: MAX_OUTPUT_BYTES, encoding: 'buffer' })
  reading.child.stdin?.on('error', () => undefined).end(ids.map(id => `${id}\n`).join(''))
  let { stdout: left } = await reading
  return ids.map(() => {
    // `ID TYPE SIZE`, a line, and the object with a line break behind it.
    const line = left.indexOf('\n')
    const end = line + 1 + Number(left.subarray(0, line).toString().split(' ')[2])
    const object = left.subarray(line + 1, end)
    left = left.subarray(end + 1)
    return object
  })
}

/** What git prints. Throws with a `code` where it fails, or is not installed. */
export async function git(args: readonly string[], cwd = process.cwd()): Promise<string> {
  return (await run('git', args, { cwd, maxBuffer: MAX_OUTPUT_BYTES })).stdout
}
