import { lstat, readlink, stat } from 'node:fs/promises'
import { basename, parse, resolve, sep } from 'node:path'
import { comparedName } from '../core/platform.js'

/** A folder to watch, by its real path. @testonly */
export class WatchPoint {
  /** The entries that matter, by their names as these are compared. */
  readonly #names = new Map<string, string>()
  /** Added and removed entries matter under any name. */
  listing = false
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  get names(): Iterable<string> {
    return this.#names.values()
  }

  /** An entry of that name matters. */
  add(name: string): void {
    this.#names.set(comparedName(name), name)
  }

  /** Whether an event (from `fs.watch`) can concern a path that we read. */
  concernedBy(event: string, name: string | null): boolean {
    if (name === null || name === this.#folder || this.isItself(name)) return true
    return this.#names.has(comparedName(name)) || (this.listing && event === 'rename')
  }

  /** inotify reports the end or move of a watched folder under the folder's own name. */
  isItself(name: string | null): boolean {
    return name !== null && comparedName(name) === comparedName(basename(this.#folder))
  }
}

export interface WatchPoints {
  readonly folders: ReadonlyMap<string, WatchPoint>
  /** Equal as long as the folders are the same ones: one replaced under its old name counts as another. */
  readonly identity: string
}

// Linux gives up after 40 links as well (path_resolution(7)).
const MAX_LINKS = 40

/**
 * Finds what to watch so that no way of changing a path goes unseen: the real folder that holds each file, the folder of
 * every symbolic link on the way to it, and where something is missing, the nearest folder that exists. Never throws.
 */
export async function watchPoints(sources: readonly string[], folders: readonly string[]): Promise<WatchPoints> {
  const walk = new Walk()
  for (const source of sources) await walk.follow(resolve(source), false)
  for (const folder of folders) await walk.follow(resolve(folder), true)
  return walk.result()
}

/**
 * What the file system says of the paths now, as one string: equal means untouched. Sees new contents, permissions and
 * owners (ctime), another file under the same name (inode), and entries that came or went (mtime of a folder).
 */
export async function fingerprint(paths: readonly string[]): Promise<string> {
  const lines = await Promise.all(paths.map(describe))
  return lines.join('\n')
}

async function describe(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
    return [path, dev, ino, size, mtimeMs, ctimeMs].join(' ')
  } catch {
    return `${path} is not readable`
  }
}

interface Entry {
  readonly inode: string
  readonly folder: boolean
  /** Where a symbolic link points. */
  readonly link: string | undefined
}

/** One pass over the file system; looks at each path once. */
class Walk {
  readonly #seen = new Map<string, Entry | undefined>()
  readonly #points = new Map<string, WatchPoint>()

  async follow(path: string, listing: boolean): Promise<void> {
    let folder = parse(path).root
    let rest = parts(path)
    for (let links = 0; rest.length > 0 && links < MAX_LINKS; ) {
      const [name = '', ...after] = rest
      const here = resolve(folder, name)
      const entry = await this.#entryAt(here)
      if (entry?.link !== undefined) {
        this.#point(folder).add(name)
        const target = resolve(folder, entry.link)
        folder = parse(target).root
        rest = [...parts(target), ...after]
        links++
      } else if (!entry?.folder || (after.length === 0 && !listing)) {
        this.#point(folder).add(name)
        return
      } else {
        folder = here
        rest = after
      }
    }
    if (rest.length === 0) this.#point(folder).listing = true
  }

  async result(): Promise<WatchPoints> {
    const identity: string[] = []
    for (const folder of [...this.#points.keys()].sort()) {
      identity.push(`${folder} ${(await this.#entryAt(folder))?.inode}`)
    }
    return { folders: this.#points, identity: identity.join('\n') }
  }

  #point(folder: string): WatchPoint {
    const point = this.#points.get(folder) ?? new WatchPoint(folder)
    this.#points.set(folder, point)
    return point
  }

  async #entryAt(path: string): Promise<Entry | undefined> {
    if (!this.#seen.has(path)) this.#seen.set(path, await read(path))
    return this.#seen.get(path)
  }
}

async function read(path: string): Promise<Entry | undefined> {
  try {
    const facts = await lstat(path)
    const link = facts.isSymbolicLink() ? await readlink(path) : undefined
    return { inode: `${facts.dev}:${facts.ino}`, folder: facts.isDirectory(), link }
  } catch {
    return undefined
  }
}

function parts(path: string): string[] {
  const { root } = parse(path)
  return path.slice(root.length).split(sep).filter(Boolean)
}
