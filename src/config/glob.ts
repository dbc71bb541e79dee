import { type Dirent, readdirSync, statSync } from 'node:fs'
import { dirname, join, parse, sep } from 'node:path'

/** Bounds of one glob: files found, folders looked into, depth of `**`. */
const MAX_FILES = 1000
const MAX_FOLDERS = 10_000
const MAX_DEPTH = 16

/** Whether a text fits a pattern in which `*` stands for any text and, where asked for, `?` for one character. */
export function matches(pattern: string, text: string, questionMark = false): boolean {
  let p = 0
  let t = 0
  let star = -1
  let retry = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      retry = t
    } else if (p < pattern.length && (pattern[p] === text[t] || (questionMark && pattern[p] === '?'))) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++retry
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** Whether there is a text that fits both of two patterns, each with a `*` in it: their ends must not contradict. */
export function overlap(a: string, b: string): boolean {
  const [startA, startB] = [a.slice(0, a.indexOf('*')), b.slice(0, b.indexOf('*'))]
  const [endA, endB] = [a.slice(a.lastIndexOf('*') + 1), b.slice(b.lastIndexOf('*') + 1)]
  return (startA.startsWith(startB) || startB.startsWith(startA)) && (endA.endsWith(endB) || endB.endsWith(endA))
}

/** Whether a path names several files. */
export function isGlob(path: string): boolean {
  return /[*?]/.test(path)
}

/** The folder below which all files of an absolute glob lie. */
export function globRoot(pattern: string): string {
  const segments = pattern.split(sep)
  const first = segments.findIndex(isGlob)
  if (first === -1) return dirname(pattern)
  return segments.slice(0, first).join(sep) || parse(pattern).root
}

/**
 * Files that fit an absolute glob, sorted: `*` and `?` within a name, `**` for any folders. Names that start with a dot
 * fit only patterns that start with one. Symbolic links to files count, `**` does not follow links to folders.
 */
export function expandGlob(pattern: string): readonly string[] {
  const root = globRoot(pattern)
  const found: string[] = []
  const walk = { folders: 0, found }
  descend(
    root,
    pattern
      .slice(root.length)
      .split(sep)
      .filter(segment => segment !== ''),
    MAX_DEPTH,
    walk,
  )
  return [...new Set(found)].sort()
}

function descend(
  folder: string,
  segments: readonly string[],
  depth: number,
  walk: { folders: number; readonly found: string[] },
): void {
  const [segment, ...rest] = segments
  if (segment === undefined || depth < 0 || walk.folders++ > MAX_FOLDERS || walk.found.length >= MAX_FILES) return
  if (segment === '**') {
    descend(folder, rest, depth, walk)
    for (const entry of entries(folder)) {
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        descend(join(folder, entry.name), segments, depth - 1, walk)
    }
    return
  }
  for (const entry of entries(folder)) {
    if (!fits(segment, entry.name)) continue
    const path = join(folder, entry.name)
    if (rest.length > 0) descend(path, rest, depth - 1, walk)
    else if (isFile(entry, path)) walk.found.push(path)
  }
}

function fits(segment: string, name: string): boolean {
  return matches(segment, name, true) && (!name.startsWith('.') || segment.startsWith('.'))
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
