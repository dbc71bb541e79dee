import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { MAX_FILE_BYTES } from '../config/open.js'
import { SourceFault } from '../runtime/source/fault.js'
import { type Fetch, MAX_SIGNATURE_BYTES, type Place } from '../runtime/source/fetching.js'
import { inTemporaryFolder } from './temporary-folder.js'

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
  const git = gitOf(place, repository)
  const commit = COMMIT.test(name) ? name : commitIn(await git(['ls-remote', repository, name, `${name}^{}`]), name)
  if (commit === undefined) throw new SourceFault('failed', `the repository has no ${name}`)
  if (commit === tag.etag) return undefined
  return inTemporaryFolder('gateway-source-', async folder => {
    await git(['init', '--quiet', '--bare', folder])
    await git(['-C', folder, 'fetch', '--quiet', '--depth=1', '--no-tags', repository, commit])
    const blob = (file: string, most: number): Promise<Buffer> => blobOf(git, folder, `${commit}:${file}`, most)
    return {
      bytes: await blob(path, MAX_FILE_BYTES),
      tag: { etag: commit },
      ...(place.isSigned ? { signature: await blob(`${path}.sig`, MAX_SIGNATURE_BYTES) } : {}),
    }
  })
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

function gitOf(place: Place, repository: string): Git {
  const { timeoutMs: timeout } = place
  const env = {
    ...{ ...process.env, ...settingsOf(place, repository) },
    ...{ GIT_TERMINAL_PROMPT: '0', GIT_ALLOW_PROTOCOL: 'https:http:ssh:file' },
  }
  return async (args, maxBuffer = MAX_LIST_BYTES) => {
    try {
      return (await run('git', args, { encoding: 'buffer', env, maxBuffer, timeout })).stdout
    } catch (error) {
      throw new SourceFault('failed', reasonOf(error))
    }
  }
}

/** In the environment, behind those that are there: arguments are seen by every user of the machine. */
function settingsOf({ authorization }: Place, repository: string): Readonly<Record<string, string>> {
  const settings = [['http.followRedirects', 'false']]
  if (authorization !== undefined)
    settings.push([`http.${new URL(repository).origin}/.extraHeader`, `Authorization: ${authorization.reveal()}`])
  const before = Number(process.env.GIT_CONFIG_COUNT) || 0
  const named = settings.flatMap(([name = '', value = ''], at) => [
    [`GIT_CONFIG_KEY_${before + at}`, name],
    [`GIT_CONFIG_VALUE_${before + at}`, value],
  ])
  return { ...Object.fromEntries(named), GIT_CONFIG_COUNT: String(before + settings.length) }
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
  if (line !== undefined && /could not read (?:Username|Password)|Authentication failed/.test(line))
    return 'git: the server wants a login, or refuses the one that it gets (--basic-env, --bearer-env)'
  return `git: ${line?.replace(/^(?:fatal|error): /, '').replace(/:\/\/[^@/\s]*@/g, '://') ?? 'it failed'}`
}
