import { close, closeSync, fstat, fstatSync, open, openSync } from 'node:fs'
import { link, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder, makeFolderSync } from '../core/folders.js'
import type { LogFile } from '../core/log-config.js'
import type { Place } from './line-writer.js'

const opening = promisify(open)
const looking = promisify(fstat)

/** Readable by the owner and its group. */
const MODE = 0o640
/** How long another process may take between the two steps of a rotation, before one that died is taken over from, ms. */
const TAKE_OVER_MS = 5000

/** What becomes of lines if no new file can be begun: the one in use takes more than it should, or it was removed. */
export type FileFault = 'grows' | 'lost'

/**
 * A file of the log. Several processes may write to it and rotate it: the file gets a second name that is made of when it began
 * and of its number, which only the first of them can make, and that one puts a new file in its place. Others, and a file that was moved
 * by hand, are noticed before the next write.
 */
export class RotatedFile implements Place {
  readonly #config: LogFile
  #descriptor: number
  #inode = 0
  /** When the file began, milliseconds since the epoch. */
  #began = 0
  /** Since when another process has been rotating this file. */
  #waitingSince: number | undefined
  #fault: FileFault | undefined
  /** Called when no new file can be begun, once until it can. */
  onFault: (fault: FileFault, error: Error) => void = () => undefined

  /** Creates the file and its folder. Throws the system's error where that cannot be. */
  constructor(config: LogFile) {
    this.#config = config
    makeFolderSync(dirname(config.file))
    this.#descriptor = openSync(config.file, 'a', MODE)
    this.#know(fstatSync(this.#descriptor))
  }

  get descriptor(): number {
    return this.#descriptor
  }

  /** Before so many bytes are written. A file that cannot be changed for another one stays in use, unless it was removed. */
  prepare(bytes: number, ready: (isLost: boolean) => void): void {
    this.#prepare(bytes).then(
      () => {
        this.#fault = undefined
        ready(false)
      },
      async error => {
        const fault = (await this.#isRemoved()) ? 'lost' : 'grows'
        if (fault !== this.#fault) this.onFault(fault, error)
        this.#fault = fault
        ready(fault === 'lost')
      },
    )
  }

  /** Whether the file in use has no name any more. */
  async #isRemoved(): Promise<boolean> {
    return await looking(this.#descriptor).then(
      ({ nlink }) => nlink === 0,
      () => true,
    )
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  async #prepare(bytes: number): Promise<void> {
    const { file, size, age } = this.#config
    const now = await stat(file).catch(() => undefined)
    if (now === undefined || now.ino !== this.#inode) {
      await makeFolder(dirname(file))
      await this.#use(await opening(file, 'a', MODE))
      return
    }
    const isOver = now.size + bytes > size || Date.now() - this.#began > age
    if (isOver && now.size > 0) await this.#rotate()
  }

  async #rotate(): Promise<void> {
    const { file } = this.#config
    const former = this.#formerName()
    let isMoved = false
    try {
      isMoved = await this.#give(former)
    } catch (cause) {
      // Another process has changed it just now.
      if (codeOf(cause) === 'ENOENT') return
      if (codeOf(cause) !== 'EEXIST') throw cause
      if (!this.#mayTakeOver()) return
    }
    if (!isMoved && (await stat(former)).ino !== this.#inode) {
      await unlink(former)
      return
    }
    await this.#use(await (isMoved ? opening(file, 'a', MODE) : this.#fresh()))
    await this.#prune()
  }

  /** True: the file has the other name alone. Only one process succeeds, also on file systems without second names. */
  async #give(former: string): Promise<boolean> {
    const { file } = this.#config
    try {
      await link(file, former)
      return false
    } catch (cause) {
      if (!NO_LINKS.has(codeOf(cause))) throw cause
    }
    await writeFile(former, '', { flag: 'wx', mode: MODE })
    try {
      await rename(file, former)
    } catch (cause) {
      await unlink(former)
      throw cause
    }
    return true
  }

  /** A new file in place of the one that has two names. */
  async #fresh(): Promise<number> {
    const { file } = this.#config
    const fresh = join(dirname(file), `.${basename(file)}.${process.pid}`)
    const opened = await opening(fresh, 'a', MODE)
    try {
      await rename(fresh, file)
      return opened
    } catch (cause) {
      close(opened, () => undefined)
      throw cause
    }
  }

  #mayTakeOver(): boolean {
    this.#waitingSince ??= Date.now()
    return Date.now() - this.#waitingSince > TAKE_OVER_MS
  }

  async #use(opened: number): Promise<void> {
    const found = await looking(opened)
    const before = this.#descriptor
    this.#descriptor = opened
    this.#know(found)
    close(before, () => undefined)
  }

  #know({ ino, birthtimeMs }: { readonly ino: number; readonly birthtimeMs: number }): void {
    this.#inode = ino
    this.#began = birthtimeMs > 0 ? Math.floor(birthtimeMs) : Date.now()
    this.#waitingSince = undefined
  }

  #formerName(): string {
    const [folder, stem, end] = this.#parts()
    const began = new Date(this.#began).toISOString().replaceAll(':', '')
    return join(folder, `${stem}.${began}-${this.#inode.toString(36)}${end}`)
  }

  #parts(): readonly [folder: string, stem: string, end: string] {
    const { file } = this.#config
    const end = extname(file)
    return [dirname(file), basename(file, end), end]
  }

  /** Removes the oldest former files. */
  async #prune(): Promise<void> {
    const [folder, stem, end] = this.#parts()
    const former = (await readdir(folder)).filter(name => {
      if (!name.startsWith(`${stem}.`) || !name.endsWith(end)) return false
      return FORMER.test(name.slice(stem.length, name.length - end.length))
    })
    const old = former.sort().slice(0, Math.max(0, former.length - this.#config.keep))
    for (const name of old) await unlink(join(folder, name)).catch(() => undefined)
  }
}

/** Between the stem and the end of a former file's name. */
const FORMER = /^\.\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-[0-9a-z]+$/
/** What `link` says where a file can have one name alone. */
const NO_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function codeOf(cause: unknown): string | undefined {
  return (cause as NodeJS.ErrnoException).code
}
