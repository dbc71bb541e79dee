import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MAX_FILE_BYTES } from '../config/open.js'
import type { Secret } from '../core/secret.js'
import { SourceFault } from '../runtime/source/fault.js'
import { type Fetch, MAX_SIGNATURE_BYTES, type Place } from '../runtime/source/fetching.js'

const run = promisify(execFile)

const COMMIT = /^[0-9a-f]{40,64}$/
/** Most that git prints of what is not a document, bytes. */
const MAX_LIST_BYTES = 64 * 1024

interface Revision {
  readonly repository: string
  readonly name: string
  readonly path: string
}

/** `git+https://host/repository.git#REVISION:PATH`; undefined where it has another form. */
export function revisionOf(address: string): Revision | undefined {
  const [, repository = '', name = '', path = ''] =
    /^git\+([^#]+)#([A-Za-z0-9_][\w./-]*):([^-:\s][^:\s]*)$/.exec(address) ?? []
  return path === '' ? undefined : { repository, name, path }
}

/** A document in a revision of a git repository elsewhere. Its tag is the commit. */
export const fetchGit: Fetch = async (place, tag) => {
  const revision = revisionOf(place.address)
  if (revision === undefined)
    throw new SourceFault('failed', 'it has not the form git+https://HOST/REPOSITORY#REVISION:PATH')
  const { repository, name, path } = revision
  const git = gitOf(place)
  const commit = COMMIT.test(name) ? name : commitIn(await git(['ls-remote', repository, name, `${name}^{}`]), name)
  if (commit === undefined) throw new SourceFault('failed', `the repository has no ${name}`)
  if (commit === tag.etag) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'gateway-source-'))
  try {
    await git(['init', '--quiet', '--bare', folder])
    await git(['-C', folder, 'fetch', '--quiet', '--depth=1', '--no-tags', repository, commit])
    const blob = (file: string, most: number): Promise<Buffer> => blobOf(git, folder, `${commit}:${file}`, most)
    return {
      bytes: await blob(path, MAX_FILE_BYTES),
      tag: { etag: commit },
      ...(place.isSigned ? { signature: await blob(`${path}.sig`, MAX_SIGNATURE_BYTES) } : {}),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Git = (args: readonly string[], maxBuffer?: number) => Promise<Buffer>

/** git lists all names that end alike. What an annotated tag is of has a line beside that of the tag. */
function commitIn(listed: Buffer, name: string): string | undefined {
  const commits = new Map<string, string>()
  for (const line of listed.toString().split('\n')) {
    const [commit = '', reference = ''] = line.split('\t')
    if (COMMIT.test(commit)) commits.set(reference, commit)
  }
  const meant = [name, `refs/tags/${name}^{}`, `refs/tags/${name}`, `refs/heads/${name}`]
  return meant.map(reference => commits.get(reference)).find(commit => commit !== undefined)
}

async function blobOf(git: Git, folder: string, object: string, most: number): Promise<Buffer> {
  const size = Number((await git(['-C', folder, 'cat-file', '-s', object])).toString())
  if (size > most) throw new SourceFault('refused', `it has ${size} bytes; ${most} are allowed`)
  return await git(['-C', folder, 'cat-file', 'blob', object], most)
}

function gitOf({ bearer, timeoutMs: timeout }: Place): Git {
  const env = {
    ...process.env,
    ...settingsOf(bearer),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:file',
  }
  return async (args, maxBuffer = MAX_LIST_BYTES) => {
    try {
      return (await run('git', args, { encoding: 'buffer', env, maxBuffer, timeout })).stdout
    } catch (error) {
      throw new SourceFault('failed', reasonOf(error))
    }
  }
}

/**
 * Behind those that the environment has, and in it: arguments are seen by every user of the machine. git sends the login to the host
 * that a redirect names.
 */
function settingsOf(bearer: Secret | undefined): Record<string, string> {
  const first = Number(process.env.GIT_CONFIG_COUNT) || 0
  const login = bearer && ['http.extraHeader', `Authorization: Bearer ${bearer.reveal()}`]
  const settings = [['http.followRedirects', 'false'], ...(login === undefined ? [] : [login])]
  const variables = settings.flatMap(([name = '', value = ''], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, name],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(first + settings.length), ...Object.fromEntries(variables) }
}

function reasonOf(error: unknown): string {
  const { code, killed, stderr } = error as {
    readonly code?: unknown
    readonly killed?: boolean
    readonly stderr?: Buffer
  }
  if (code === 'ENOENT') return 'git is not installed'
  if (killed === true) return 'git gave no answer in time'
  const line = stderr
    ?.toString()
    .split('\n')
    .findLast(one => one.startsWith('fatal: ') || one.startsWith('error: '))
  return `git: ${line?.replace(/^(?:fatal|error): /, '').replace(/:\/\/[^@/\s]*@/g, '://') ?? 'it failed'}`
}
