import { type Dirent, readdirSync, statSync } from 'node:fs'
import ownPaths, { join, type PlatformPath, sep } from 'node:path'
import { Glob } from '../core/glob.js'

/** Bounds of one glob: files found, folders looked into, depth of `**`. */
const MAX_FILES = 1000
export const MAX_FOLDERS = 10_000
export const MAX_DEPTH = 16

/** Whether a path names several files. */
export function isFileGlob(path: string): boolean {
  return /[*?]/.test(path)
}

/** The folder below which all files of an absolute glob lie. */
export function globRoot(pattern: string, { parse, dirname, sep }: PlatformPath = ownPaths): string {
  const { root } = parse(pattern)
  const segments = pattern.slice(root.length).split(sep)
  const first = segments.findIndex(isFileGlob)
  return first === -1 ? dirname(pattern) : root + segments.slice(0, first).join(sep)
}

interface Found {
  readonly files: readonly string[]
  /** The bound that was met, where there may be more. */
  readonly cut?: 'files' | 'folders'
}

/**
 * Files that fit an absolute glob, sorted: `*` and `?` within a name, `**` for any folders. Names that start with a dot
 * fit only patterns that start with one. Symbolic links to files count, `**` does not follow links to folders.
 */
export function expandGlob(pattern: string): Found {
  const root = globRoot(pattern)
  const found: string[] = []
  const walk: Walk = { folders: 0, found, cut: undefined }
  descend(
    root,
    pattern
      .slice(root.length)
      .split(sep)
      .filter(segment => segment !== ''),
    MAX_DEPTH,
    walk,
  )
  const files = [...new Set(found)].sort()
  return walk.cut === undefined ? { files } : { files, cut: walk.cut }
}

interface Walk {
  folders: number
  readonly found: string[]
  cut: Found['cut'] | undefined
}

function descend(folder: string, segments: readonly string[], depth: number, walk: Walk): void {
  const [segment, ...rest] = segments
  if (segment === undefined) return
  const isFull = walk.found.length >= MAX_FILES
  if (isFull || depth < 0 || walk.folders++ > MAX_FOLDERS) {
    walk.cut = isFull ? 'files' : (walk.cut ?? 'folders')
    return
  }
  if (segment === '**') {
    descend(folder, rest, depth, walk)
    for (const entry of entries(folder)) {
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        descend(join(folder, entry.name), segments, depth - 1, walk)
    }
    return
  }
  const glob = new Glob(segment, true)
  for (const entry of entries(folder)) {
    if (!glob.matches(entry.name) || (entry.name.startsWith('.') && !segment.startsWith('.'))) continue
    const path = join(folder, entry.name)
    if (rest.length > 0) descend(path, rest, depth - 1, walk)
    else if (isFile(entry, path)) walk.found.push(path)
  }
}

function entries(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function isFile(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
