import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Most output of git: the largest file that is read from a revision, and the longest list of files. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** Fetches those of a commit's objects that a partial clone does not have, all at once: git itself would fetch one at a time. */
export async function fetchMissing(ids: readonly string[], commit: string, path: string, cwd: string): Promise<void> {
  try {
    const settings = await git(['config', '--get-regexp', '^remote\\..+\\.promisor$'], cwd)
    const [, remote] = /^remote\.(.+)\.promisor true$/m.exec(settings) ?? []
    if (remote === undefined) return
    const listed = await git(['rev-list', '--objects', '--no-walk', '--missing=print', commit, '--', path], cwd)
    const lines = new Set(listed.split('\n'))
    const missing = ids.filter(id => lines.has(`?${id}`))
    const fetching = ['-c', 'fetch.negotiationAlgorithm=noop', 'fetch', '--quiet', '--no-tags', '--no-write-fetch-head']
    const only = ['--recurse-submodules=no', '--filter=blob:none', '--stdin', remote]
    if (missing.length > 0) await gitOf([...fetching, ...only], missing, cwd)
  } catch (error) {
    // No such setting; or git tries each by itself, and says what is wrong.
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** Bytes of each object, in that order. Throws as {@link git}. */
export async function gitSizes(ids: readonly string[], cwd: string): Promise<readonly number[]> {
  const listed = await gitOf(['cat-file', '--batch-check=%(objectsize)'], ids, cwd)
  const sizes = listed.toString().split('\n').slice(0, ids.length).map(Number)
  if (sizes.some(Number.isNaN)) throw Object.assign(new Error('an object is missing'), { code: 'missing' })
  return sizes
}

/** Objects by their ids, in that order. Throws as {@link git}. */
export async function gitObjects(ids: readonly string[], cwd: string): Promise<readonly Buffer[]> {
  let left = await gitOf(['cat-file', '--batch'], ids, cwd)
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

/** What git prints after it has read lines. */
async function gitOf(args: readonly string[], lines: readonly string[], cwd: string): Promise<Buffer> {
  const running = run('git', args, { cwd, maxBuffer: MAX_OUTPUT_BYTES, encoding: 'buffer' })
  running.child.stdin?.on('error', () => undefined).end(lines.map(line => `${line}\n`).join(''))
  return (await running).stdout
}
