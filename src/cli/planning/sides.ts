import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { isAddress, shownSource } from '../../core/config-place.js'
import { makeFolder } from '../../core/folders.js'
import { withSlashes } from '../../core/platform.js'
import type { Side } from '../../plan/difference/difference.js'
import { adminApiOf } from '../admin-api.js'
import { CommandError, EXIT, type Io, plainMessage } from '../io.js'
import { checkGiven, type Given, givenText, invalid, printProblems, STANDARD_INPUT } from '../loading.js'
import { servedDocuments } from '../served-documents.js'
import { git } from './git.js'

/** A side of a comparison, with what to call it. */
export interface NamedSide extends Side {
  readonly file: string
}

/** Most files beside the configuration that are read from a revision. */
const MAX_FILES = 2000
const SUPPORTING = /\.(?:ya?ml|json)$/

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
  const folder = await mkdtemp(join(tmpdir(), 'gateway-plan-'))
  try {
    const main = await extracted(revision, folder).catch(error => {
      if (!(error instanceof Error && 'code' in error) || error instanceof CommandError) throw error
      throw new CommandError(`${revision.path} cannot be read from ${word} (${error.code})`)
    })
    return await compiled(main, word, io)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function compiled(file: string, shown: string, io: Io, given?: Given): Promise<NamedSide> {
  const { plan, config, problems } = await checkGiven(file, given ?? (await givenText(file, io)), io, 'assume')
  if (plan !== undefined && config !== undefined) return { plan, config, file: shown }
  await printProblems(problems, io.stderr, io)
  throw invalid(shown)
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

/** Writes the configuration, a file or a folder, and the files beside and below it that it may include. */
async function extracted({ commit, root, path }: Revision, folder: string): Promise<string> {
  const beside = posix.dirname(path)
  const listed = await git(['ls-tree', '--full-tree', '-r', '--name-only', '-z', commit, '--', `${beside}/`])
  const names = listed.split('\0').filter(name => name === path || SUPPORTING.test(name))
  if (names.length > MAX_FILES) throw new CommandError(`more than ${MAX_FILES} YAML and JSON files are beside ${path}`)
  const type = (await git(['cat-file', '-t', `${commit}:${path}`], root)).trim()
  for (const name of new Set(type === 'tree' ? names : [path, ...names])) {
    const to = resolve(folder, relative(resolve(root), resolve(root, name)))
    await makeFolder(dirname(to))
    await writeFile(to, await git(['cat-file', 'blob', `${commit}:${name}`], root))
  }
  return join(folder, path)
}

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
