import { existsSync, statSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, posix, relative } from 'node:path'
import { folderOf, isAddress, placeOf, shownSource } from '../../core/config-place.js'
import { makeFolder } from '../../core/folders.js'
import { numbered } from '../../core/numbered.js'
import { withSlashes } from '../../core/platform.js'
import type { Side } from '../../plan/difference/difference.js'
import type { LocatedPlan } from '../../runtime/load.js'
import { adminApiOf } from '../admin-api.js'
import { CommandError, EXIT, type Io, plainMessage, print } from '../io.js'
import { checkGiven, type Given, givenText, invalid, printProblems, STANDARD_INPUT } from '../loading.js'
import { servedDocuments } from '../served-documents.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import { fetchMissing, git, gitObjects, gitSizes } from './git.js'

/** A side of a comparison, with what to call it. */
export interface NamedSide extends Side {
  readonly file: string
}

/** Most files beside and below the configuration that are read from a revision, and most bytes of them. */
const MAX_FILES = 2000
const MAX_BYTES = 32 * 1024 * 1024
/** Read before others. */
const SUPPORTING = /\.(?:ya?ml|json)$/
const BOUNDS = `at most ${MAX_FILES} files and ${MAX_BYTES / 1024 / 1024} MiB are`

/** An address of a document, and not of an admin API. */
const DOCUMENT = /^https?:\/\/[^?#]+\.ya?ml(?:\?|$)/

/**
 * Compiles what a word names: a file or folder, a git revision (`HEAD~1`, `HEAD~1:gateway.yaml`), the address of a file, or of a
 * running gateway's admin API. Secrets that are not here are assumed. `file` is the configuration at hand: revisions without a path mean it.
 */
export async function sideOf(word: string, file: string, io: Io): Promise<NamedSide> {
  if (isAddress(word)) {
    const isApi = /^https?:/.test(word) && !DOCUMENT.test(word) && word !== file
    return isApi ? running(word, file, io) : compiled(word, shownSource(word), io)
  }
  if (word === STANDARD_INPUT || existsSync(word)) return compiled(word, word, io)
  const revision = await revisionOf(word, file)
  if (revision === undefined) throw new CommandError(`${word} is neither a file nor a git revision that has ${file}`)
  return inTemporaryFolder('gateway-plan-', async folder => {
    const left = await extract(revision, folder).catch(error => {
      if (!(error instanceof Error && 'code' in error)) throw error
      throw new CommandError(`${revision.path} cannot be read from ${word} (${error.code})`)
    })
    if (left > 0)
      print(io.stderr, `${word}: ${numbered(left, 'file')} beside or below ${revision.path} not read: ${BOUNDS}`)
    const file = join(folder, revision.path)
    const first = await checkGiven(file, {}, io, 'assume')
    const isWhole = !(await linkUntracked(first.sources, revision, folder))
    return sideFrom(isWhole ? first : await checkGiven(file, {}, io, 'assume'), file, word, io)
  })
}

/** What the configuration names and git does not keep, such as files of secrets, is that of now, as variables are. Whether there is any. */
async function linkUntracked(sources: readonly string[], { root }: Revision, folder: string): Promise<boolean> {
  const names = sources.map(file => relative(folder, file)).filter(name => !name.startsWith('..') && !isAbsolute(name))
  const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true
  const absent = names.filter(name => !existsSync(join(folder, name)) && isFile(join(root, name)))
  if (absent.length === 0) return false
  const own = await git(
    ['--literal-pathspecs', 'ls-files', '-z', '--others', '--', ...absent.map(name => withSlashes(name))],
    root,
  ).catch(() => '')
  const linked = own.split('\0').filter(name => name !== '')
  for (const name of linked) {
    const place = join(folder, name)
    // What cannot be put there is assumed.
    await makeFolder(dirname(place))
      .then(() => symlink(join(root, name), place))
      .catch(() => undefined)
  }
  return linked.length > 0
}

async function compiled(file: string, shown: string, io: Io, given?: Given): Promise<NamedSide> {
  return sideFrom(await checkGiven(file, given ?? (await givenText(file, io)), io, 'assume'), file, shown, io)
}

async function sideFrom(
  { plan, config, problems }: LocatedPlan,
  file: string,
  shown: string,
  io: Io,
): Promise<NamedSide> {
  if (plan !== undefined && config !== undefined) return { plan, config, file: shown, folder: folderOfPaths(file) }
  await printProblems(problems, io.stderr, io)
  throw invalid(shown)
}

/** Where relative paths of a configuration begin. */
function folderOfPaths(file: string): string {
  const place = placeOf(file)
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true ? place : folderOf(place)
}

interface Revision {
  readonly commit: string
  /** Of the repository's root, absolute. */
  readonly root: string
  /** Of the configuration, from there; a folder's without a slash at its end. */
  readonly path: string
}

async function revisionOf(word: string, file: string): Promise<Revision | undefined> {
  const colon = word.indexOf(':')
  const name = colon < 0 ? word : word.slice(0, colon)
  const written = colon < 0 ? file : word.slice(colon + 1)
  try {
    const root = (await git(['rev-parse', '--show-toplevel'])).trim()
    const commit = (await git(['rev-parse', '--verify', '--end-of-options', `${name}^{commit}`])).trim()
    const prefix = (await git(['rev-parse', '--show-prefix'])).trim()
    // After a colon git reads paths from the root, as people write them there; a file at hand is below the working directory.
    const near = posix.join(prefix, withSlashes(written))
    const isNear = await isIn(commit, near)
    const path = (isNear || colon < 0 ? near : withSlashes(written)).replace(/\/+$/, '')
    return (await isIn(commit, path)) ? { commit, root, path } : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}

async function isIn(commit: string, path: string): Promise<boolean> {
  return (await git(['ls-tree', '--full-tree', '--name-only', commit, '--', path])).trim() !== ''
}

/**
 * Writes the configuration, a file or a folder, and what is beside and below it, since it may include and name any of that. Those
 * that have no room are left out: how many.
 */
async function extract({ commit, root, path }: Revision, folder: string): Promise<number> {
  const beside = `${posix.dirname(path)}/`
  const listed = await git(['ls-tree', '--full-tree', '-r', '-z', commit, '--', beside], root)
  const files = listed.split('\0').flatMap(line => fileOf(line) ?? [])
  const rank = ({ name }: TreeFile): number =>
    name === path || name.startsWith(`${path}/`) ? 0 : SUPPORTING.test(name) ? 1 : 2
  const depth = ({ name }: TreeFile): number => name.split('/').length
  const nearest = files
    .toSorted((one, other) => rank(one) - rank(other) || depth(one) - depth(other))
    .slice(0, MAX_FILES)
  const ids = nearest.map(({ id }) => id)
  await fetchMissing(ids, commit, beside, root)
  const sizes = await gitSizes(ids, root)
  let bytes = 0
  const taken = nearest.filter((_, at) => {
    const size = sizes[at] ?? 0
    if (bytes + size > MAX_BYTES) return false
    bytes += size
    return true
  })
  const objects = await gitObjects(
    taken.map(({ id }) => id),
    root,
  )
  const write = (name: string, object: Buffer): Promise<void> => writeFile(join(folder, name), object, { flag: 'wx' })
  let left = files.length - taken.length
  // Names may differ in case alone, which some systems do not: what may be of no use must not fail a plan.
  const tryWrite = (name: string, object: Buffer): Promise<void> =>
    write(name, object).catch(() => {
      left++
    })
  const links: (readonly [name: string, object: Buffer])[] = []
  for (const [at, file] of taken.entries()) {
    const { name, isLink } = file
    const object = objects[at] ?? Buffer.alloc(0)
    await makeFolder(dirname(join(folder, name)))
    if (isLink) links.push([name, object])
    else await (rank(file) === 2 ? tryWrite(name, object) : write(name, object))
  }
  // Last, so that nothing is written through one of them. Where there can be none, they are files, as with git itself.
  for (const [name, object] of links)
    await symlink(String(object), join(folder, name)).catch(() => tryWrite(name, object))
  return left
}

interface TreeFile {
  readonly id: string
  /** From the repository's root. */
  readonly name: string
  readonly isLink: boolean
}

/** Of a line `MODE TYPE ID<tab>NAME`; undefined where it is another repository, or a name that no checkout has. */
function fileOf(line: string): TreeFile | undefined {
  const [, mode, id = '', name = ''] = /^(\d+) blob (\w+)\t([\s\S]+)$/.exec(line) ?? []
  const isOutside = name.split('/').some(part => part === '..' || part === '.' || part.toLowerCase() === '.git')
  return mode === undefined || isOutside ? undefined : { id, name, isLink: mode === LINK_MODE }
}

/** Of a symbolic link: its text is where it points to. */
const LINK_MODE = '120000'

/** The plan that a gateway serves: what its files said then, with the variables of now. */
async function running(origin: string, file: string, io: Io): Promise<NamedSide> {
  const api = await adminApiOf(file, origin.replace(/\/+$/, ''), io)
  const documents = await servedDocuments(api, file).catch(error => {
    if (plainMessage(error)?.includes('answered') === false) throw error
    // It answered something else, or no JSON.
    throw new CommandError(`${origin} is not an admin API; the address of a file ends in .yaml or .yml`, EXIT.failed)
  })
  return compiled(file, origin, io, documents)
}
