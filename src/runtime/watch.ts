import { type FSWatcher, watch } from 'chokidar'
import { Coalescer } from './coalescer.js'
import { fingerprint, type WatchPoints, watchPoints } from './watch-points.js'

export interface WatchOptions {
  /** Files that were read, or would have been had they existed. Absolute paths. */
  readonly sources: readonly string[]
  /** Folders in which new files matter (those of include patterns). Absolute paths. */
  readonly folders: readonly string[]
  /**
   * Called after changes, and again at the next poll where it rejects; never while an earlier call still runs. May call
   * {@link SourceWatch.update}.
   */
  readonly onChange: () => Promise<void> | void
  /** Called when a watch breaks (it is set up again, and the poll continues) and when `onChange` begins to fail. */
  readonly onError?: (error: Error) => void
  /** Milliseconds without further events before `onChange` runs. Default 50. */
  readonly quiet?: number
  /** Longest time in milliseconds that constant events put `onChange` off. Default 1000. */
  readonly atMost?: number
  /** Milliseconds between polls of the files, for changes without an event. Default 5000. */
  readonly poll?: number
}

export interface SourceWatch {
  /** Watches other paths from now on. */
  update(sources: readonly string[], folders: readonly string[]): Promise<void>
  close(): Promise<void>
  /** Settles when the first watch is set up. Never rejects. */
  readonly ready: Promise<void>
}

/**
 * Watches configuration files for every kind of change: written in place, renamed over, deleted and recreated,
 * swapped through a symbolic link, changed permissions, or a replaced folder. Never stops by itself: a broken watch
 * is set up again with growing pauses, and a slow poll finds changes without events (network mounts, moved parents,
 * watch limits).
 *
 * Everything that becomes watched is reported once as changed, so that no edit is lost between reading a file and
 * watching it.
 */
export function watchSources(options: WatchOptions): SourceWatch {
  return new Sources(options)
}

const MIN_RETRY_MS = 1000
const MAX_RETRY_MS = 60_000

class Sources implements SourceWatch {
  readonly ready: Promise<void>
  readonly #options: WatchOptions
  readonly #changes: Coalescer
  readonly #poll: NodeJS.Timeout
  readonly #closed = new AbortController()
  #sources: ReadonlySet<string> = new Set()
  #folders: ReadonlySet<string> = new Set()
  #points: WatchPoints = { folders: new Map(), identity: '' }
  #watcher: FSWatcher | undefined
  /** Work on the watcher, one piece after the other. */
  #arming: Promise<boolean> = Promise.resolve(false)
  #stale = false
  #seen = ''
  /** The last call of `onChange` has, and that is reported. */
  #hasFailed = false
  #pause = MIN_RETRY_MS
  #retry: NodeJS.Timeout | undefined

  constructor(options: WatchOptions) {
    this.#options = options
    const { quiet = 50, atMost = 1000, poll = 5000 } = options
    this.#changes = new Coalescer({ run: () => this.#changed(), quiet, atMost })
    this.ready = this.update(options.sources, options.folders)
    this.#poll = setInterval(() => void this.#compare(), poll)
  }

  async update(sources: readonly string[], folders: readonly string[]): Promise<void> {
    const news = sources.some(path => !this.#sources.has(path)) || folders.some(path => !this.#folders.has(path))
    this.#sources = new Set(sources)
    this.#folders = new Set(folders)
    const moved = await this.#arm()
    if (news || moved) this.#changes.call()
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#changes.close()
    clearInterval(this.#poll)
    clearTimeout(this.#retry)
    await this.#arming
    await this.#retire()
  }

  async #changed(): Promise<void> {
    await this.#arm()
    this.#seen = await this.#fingerprint()
    try {
      if (!this.#closed.signal.aborted) await this.#options.onChange()
      this.#hasFailed = false
    } catch (error) {
      // The next poll calls it again.
      this.#seen = ''
      if (!this.#hasFailed) this.#report(error)
      this.#hasFailed = true
    }
  }

  async #compare(): Promise<void> {
    if ((await this.#fingerprint()) !== this.#seen) this.#changes.call()
  }

  #fingerprint(): Promise<string> {
    return fingerprint([...this.#sources, ...this.#folders])
  }

  #arm(): Promise<boolean> {
    this.#arming = this.#arming.then(() => this.#rearm())
    return this.#arming
  }

  /** Moves the watcher to where the paths lead now. Returns whether it had to move. */
  async #rearm(): Promise<boolean> {
    const points = await watchPoints([...this.#sources], [...this.#folders])
    const same = points.identity === this.#points.identity && !this.#stale
    this.#points = points
    if (same || this.#closed.signal.aborted) return false
    this.#stale = false
    // Before the next one opens: chokidar shares one handle per path, and this one's may belong to a folder that is gone.
    await this.#retire()
    if (this.#closed.signal.aborted) return false
    this.#watcher = watch([...points.folders.keys()], {
      depth: 0,
      ignored: path => !points.folders.has(path),
      ignoreInitial: true,
      followSymlinks: false,
      atomic: false,
    })
    await this.#listen(this.#watcher)
    return true
  }

  /** Settles when the watcher is set up, has failed, or is no longer needed. */
  #listen(watcher: FSWatcher): Promise<void> {
    const { signal } = this.#closed
    return new Promise(resolve => {
      const settle = (): void => {
        signal.removeEventListener('abort', settle)
        resolve()
      }
      signal.addEventListener('abort', settle)
      watcher.once('ready', settle)
      watcher.on('error', error => {
        this.#broken(error)
        settle()
      })
      // A folder's raw events include changes of permissions; chokidar's own events do not.
      watcher.on('raw', (event, name: string | null, details) => this.#event(folderOf(details), event, name))
    })
  }

  async #retire(): Promise<void> {
    const watcher = this.#watcher
    this.#watcher = undefined
    await watcher?.close()
    // Closing takes our listeners off; an error that is still on its way must not end the process.
    watcher?.on('error', () => {})
  }

  #event(folder: string | undefined, event: string, name: string | null): void {
    const point = folder === undefined ? undefined : this.#points.folders.get(folder)
    if (!point?.concernedBy(event, name)) return
    if (point.isItself(name)) this.#stale = true
    this.#pause = MIN_RETRY_MS
    this.#changes.call()
  }

  #broken(error: unknown): void {
    if (this.#retry !== undefined) return
    if (this.#pause === MIN_RETRY_MS) this.#report(error)
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#stale = true
      void this.#arm().then(() => this.#changes.call())
    }, this.#pause)
    this.#pause = Math.min(this.#pause * 2, MAX_RETRY_MS)
  }

  #report(error: unknown): void {
    this.#options.onError?.(error instanceof Error ? error : new Error(String(error)))
  }
}

function folderOf(details: unknown): string | undefined {
  const known = typeof details === 'object' && details !== null && 'watchedPath' in details
  return known && typeof details.watchedPath === 'string' ? details.watchedPath : undefined
}
