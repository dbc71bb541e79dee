import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { packageRoot } from '../core/package-root.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { expandGlob, globRoot, isFileGlob, MAX_DEPTH, MAX_FOLDERS } from './glob-files.js'
import { shippedNames } from './kinds.js'
import { openFile } from './open.js'
import type { RawRoutesFile } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { suggest } from './suggest.js'

/** What the names of shipped files begin with. */
const SHIPPED = 'shipped:'
/** Most files of one configuration. */
const MAX_FILES = 1000
const TOO_MANY = `a configuration has at most ${MAX_FILES} files`

interface UserFiles {
  /** The main file first, then what it includes, each file once however it is reached. */
  readonly documents: readonly Document[]
  /** Whether all of it could be read: where something is missing, names may be unknown that are not wrong. */
  readonly complete: boolean
  /** Folders in which files may appear that fit a glob. */
  readonly folders: readonly string[]
}

/**
 * Opens the main file and, from there, everything that is included. Of a folder, the first file by name is the main one, and
 * includes the others. `known`: paths of all of them, the main one first, where they were found before.
 */
export function openUserFiles(file: string, context: Context, known?: readonly string[]): UserFiles {
  const documents: Document[] = []
  let complete = true
  const folders = new Set<string>()
  const seen = new Set<string>()
  const [main, ...others] = known ?? mainFiles(file, folders, context)
  const waiting: { readonly path: string; readonly type: 'gateway' | 'routes'; readonly site?: Site }[] = []
  if (main !== undefined) waiting.push({ path: main, type: 'gateway' })
  for (const path of others) waiting.push({ path, type: 'routes' })
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const real = known === undefined ? realPath(next.path) : next.path
    if (seen.has(real)) continue
    seen.add(real)
    if (seen.size > MAX_FILES) {
      if (next.site === undefined) reportFolder(file, 'too-many-files', TOO_MANY, context)
      else context.report.error('too-many-files', next.site, TOO_MANY)
      complete = false
      break
    }
    const document = openFile(next.path, next.type, false, context)
    if (document === undefined) {
      complete = false
      continue
    }
    documents.push(document)
    const lists = known === undefined ? included(document, folders, context) : noted(document, context)
    if (lists.some(paths => paths.length === 0)) complete = false
    for (const [index, paths] of lists.entries()) {
      const site = new Site(document, ['include', index])
      for (const path of paths) waiting.push({ path, type: 'routes', site })
    }
  }
  return { documents, complete, folders: [...folders].sort() }
}

function mainFiles(file: string, folders: Set<string>, context: Context): readonly string[] {
  if (!context.files.isFolder(file)) return [file]
  folders.add(file)
  const { files } = expandGlob(join(file, '*.yaml'))
  if (files.length === 0) reportFolder(file, 'include-empty', 'this folder has no *.yaml file', context)
  return files
}

function reportFolder(file: string, rule: string, message: string, { report }: Context): void {
  report.add({ severity: 'error', rule, path: '', message, position: { file, line: 1, column: 1 }, length: 1 })
}

/** The files that each entry of `include` stands for. */
function included(document: Document, folders: Set<string>, context: Context): readonly (readonly string[])[] {
  const raw = document.tree.value as RawRoutesFile | null
  if (document.misfits.has('include') || raw?.include === undefined) return []
  return raw.include.map((pattern, index) => {
    const site = new Site(document, ['include', index])
    if (pattern.startsWith(SHIPPED)) return shipped(pattern.slice(SHIPPED.length), site, context)
    const path = resolve(document.source.folder, interpolate(pattern, site, context))
    if (isFileGlob(path)) folders.add(globRoot(path))
    return isFileGlob(path) ? globbed(path, pattern, site, context) : single(path, pattern, site, context)
  })
}

/** The variables in `include` count, and nothing is looked for. */
function noted(document: Document, context: Context): readonly [] {
  const raw = document.tree.value as RawRoutesFile | null
  const include = document.misfits.has('include') ? undefined : raw?.include
  if (include !== undefined) interpolate(include, new Site(document, ['include']), context)
  return []
}

/** A file of routes that comes with the gateway, and is served only where it is included. */
function shipped(name: string, site: Site, { report }: Context): readonly string[] {
  const folder = join(packageRoot(), 'routes/more')
  const names = shippedNames(folder)
  if (names.includes(name)) return [join(folder, `${name}.yaml`)]
  const meant = (): string | undefined => prefixed(suggest(name, names))
  const message = `nothing shipped is called ${quoted(name)}; there are: ${listed(names) ?? 'none'}`
  report.error('include-empty', site, message, { meant })
  return []
}

function prefixed(name: string | undefined): string | undefined {
  return name === undefined ? undefined : SHIPPED + name
}

function globbed(path: string, pattern: string, site: Site, { report }: Context): readonly string[] {
  const { files, cut } = expandGlob(path)
  if (files.length === 0) report.error('include-empty', site, `no file matches ${quoted(pattern)}`)
  if (cut === 'files') report.error('too-many-files', site, TOO_MANY)
  if (cut === 'folders') {
    const bounds = `at most ${MAX_FOLDERS} folders are searched, to a depth of ${MAX_DEPTH}`
    report.warn('too-many-folders', site, `${bounds}: files behind these are not read`)
  }
  return files
}

function single(path: string, pattern: string, site: Site, { report, files }: Context): readonly string[] {
  const kind = files.kindOf(path)
  if (kind === 'file') return [path]
  if (kind === 'folder') {
    report.error('include-empty', site, `${quoted(pattern)} is a folder`, {
      meant: () => `${pattern.replace(/\/$/, '')}/*.yaml`,
    })
  } else {
    report.error('include-empty', site, `there is no file ${quoted(pattern)}`, {
      meant: () => neighbour(path, pattern),
    })
  }
  return []
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** A file beside the one that is missing, written as the author wrote that one. */
function neighbour(path: string, written: string): string | undefined {
  try {
    const meant = suggest(basename(path), readdirSync(dirname(path)))
    return meant === undefined ? undefined : written.slice(0, written.length - basename(written).length) + meant
  } catch {
    return undefined
  }
}
