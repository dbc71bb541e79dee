import { FairShares } from '../core/fair-shares.js'
import { StoreError } from '../core/store.js'
import { BLOCK_BYTES, Blocks } from './blocks.js'
import { OverflowFile } from './overflow.js'
import { prepareTempFolder, TempFile } from './temp-file.js'

/** Sizes in bytes. */
interface SpoolOptions {
  /** For what does not stay in memory; made where it does not exist. */
  readonly folder: string
  /** Bytes of one body that stay in memory. */
  readonly body: number
  /**
   * Most of all bodies together that stays in memory; past it, bodies go to the disk at once. Each body on the disk takes
   * up to 64 KiB besides, and as much again for each reader.
   */
  readonly memory: number
  /** Most of all bodies together on the disk. */
  readonly disk: number
}

/** Current usage. Sizes in bytes, including buffers that are being written or read. */
interface SpoolUse {
  readonly bodies: number
  readonly memory: number
  readonly disk: number
  /** Files that are open. */
  readonly files: number
}

/**
 * Holds bodies that are too large for memory: each up to a bound in memory, and from there on in a file that has no name
 * and is gone with the process. All failures are {@link StoreError}s: `full` where a bound or the disk is met.
 */
export class Spooler {
  readonly #options: SpoolOptions
  readonly #spools = new Set<Spool>()
  readonly #memory: FairShares
  readonly #disk: FairShares
  #files = 0
  #ready: Promise<void> | undefined

  constructor(options: SpoolOptions) {
    this.#options = options
    this.#memory = new FairShares(options.memory)
    this.#disk = new FairShares(options.disk)
  }

  get use(): SpoolUse {
    return { bodies: this.#spools.size, memory: this.#memory.taken, disk: this.#disk.taken, files: this.#files }
  }

  /** Makes the folder, and clears it of what a crash may have left. Done at the first need where it is not done before. */
  async prepare(): Promise<void> {
    this.#ready ??= prepareTempFolder(this.#options.folder)
    try {
      await this.#ready
    } catch (error) {
      this.#ready = undefined
      throw new StoreError('refused', `the folder ${this.#options.folder} cannot be used (${reasonOf(error)})`, error)
    }
  }

  /**
   * Space for one body of a caller; memory and disk are shared fairly among callers' keys. The opener disposes of it
   * in every case.
   */
  open(key: string): Spool {
    const { body } = this.#options
    const spool = new Spool({
      body,
      freeMemory: () => this.#memory.room(key),
      memory: bytes => this.#memory.add(key, bytes),
      disk: bytes => this.reserve(key, bytes),
      createFile: () => this.createFile(),
      closeFile: file => this.closeFile(file),
      gone: () => this.#spools.delete(spool),
    })
    this.#spools.add(spool)
    return spool
  }

  /** Space for text of one answer to a caller. The opener closes it in every case. */
  overflow(key: string): OverflowFile {
    return new OverflowFile({ folder: this.#options.folder, disk: bytes => this.reserve(key, bytes) })
  }

  /** Disposes of all bodies. */
  async close(): Promise<void> {
    await Promise.all([...this.#spools].map(spool => spool.dispose()))
  }

  private reserve(key: string, bytes: number): void {
    if (bytes <= 0) this.#disk.add(key, bytes)
    else if (!this.#disk.take(key, bytes)) {
      const all = `${this.#options.disk} bytes in total`
      throw new StoreError('full', `bodies on disk exceed this key's share of the limit of ${all}`)
    }
  }

  private async createFile(): Promise<TempFile> {
    await this.prepare()
    try {
      const file = await TempFile.create(this.#options.folder)
      this.#files++
      return file
    } catch (error) {
      // The folder may have been cleared away: the next body looks again.
      this.#ready = undefined
      throw error
    }
  }

  private async closeFile(file: TempFile): Promise<void> {
    // A file that fails to close has been let go of all the same.
    await file.close().catch(() => undefined)
    this.#files--
  }
}

/** What a spool needs of its {@link Spooler}. Sizes in bytes, negative ones to give back. */
interface Host {
  readonly body: number
  freeMemory(): number
  memory(bytes: number): void
  /** Throws where there is no room for them. */
  disk(bytes: number): void
  createFile(): Promise<TempFile>
  closeFile(file: TempFile): Promise<void>
  gone(): void
}

/**
 * One body. It is written once, from its beginning, and can be read any number of times, also while it is being written,
 * until it is disposed of.
 */
export class Spool {
  readonly #host: Host
  /** The end of the body that is not in the file. */
  readonly #tail = new Blocks()
  #file: TempFile | undefined
  #inFile = 0
  #reserved = 0
  /** Buffers that readers hold. */
  #reading = 0
  /** Memory that the host knows of. */
  #memory = 0
  #state: 'open' | 'whole' | 'gone' = 'open'
  /** Those that need it; the opener is the first. */
  #users = 1
  #writing: Promise<void> | undefined
  #fault: StoreError | undefined
  #release: Promise<void> | undefined
  #waiting: (() => void)[] = []

  /** Made by {@link Spooler.open}. */
  constructor(host: Host) {
    this.#host = host
  }

  /** Bytes that have been written. */
  get length(): number {
    return this.#inFile + this.#tail.length
  }

  /**
   * Adds a chunk, which is copied. Has to be awaited before the next one: that is the back-pressure. Where it fails, the
   * body is gone.
   */
  async write(chunk: Uint8Array): Promise<void> {
    this.check()
    if (this.#state === 'whole' || this.#writing !== undefined) {
      throw new StoreError('unavailable', 'a body must be written chunk by chunk, in order')
    }
    const done = this.append(chunk)
    this.#writing = done
    try {
      await done
    } catch (error) {
      this.#fault ??= faultOf(error)
      void this.dispose()
      throw this.#fault
    } finally {
      this.#writing = undefined
    }
  }

  /** The body is whole. */
  end(): void {
    this.check()
    if (this.#writing !== undefined) throw new StoreError('unavailable', 'a body ends after its last chunk')
    this.#state = 'whole'
    this.wake()
  }

  /**
   * The bytes from `start` up to `end`, or to the end of the body, in chunks of at most 64 KiB. Where the body is still
   * being written, it waits for the rest. Fails when the body is disposed of.
   */
  async *read(start = 0, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer, void, void> {
    for (let at = start; at < end; ) {
      this.check()
      const stop = Math.min(end, this.length)
      if (at >= stop) {
        if (this.#state === 'whole') return
        await this.grown()
      } else if (at >= this.#inFile) {
        const bytes = this.#tail.read(at - this.#inFile, stop - this.#inFile)
        at += bytes.length
        yield bytes
      } else {
        const length = Math.min(BLOCK_BYTES, stop - at, this.#inFile - at)
        this.reading(length)
        try {
          const bytes = await this.readFile(at, length)
          at += bytes.length
          yield bytes
        } finally {
          this.reading(-length)
        }
      }
    }
  }

  /** One more needs it: it is there until each of them has let it go. */
  retain(): void {
    this.#users++
  }

  /** One of them needs it no longer. */
  letGo(): void {
    if (--this.#users === 0) void this.dispose()
  }

  /**
   * Releases memory and disk in any state of the body: a current write or read fails. Fulfilled when everything is
   * released. Never fails, and may be called again.
   */
  dispose(): Promise<void> {
    this.#state = 'gone'
    this.#release ??= this.release()
    return this.#release
  }

  private async release(): Promise<void> {
    this.wake()
    await this.#writing?.catch(() => undefined)
    if (this.#file !== undefined) await this.#host.closeFile(this.#file)
    this.#file = undefined
    this.#tail.clear()
    this.#reading = 0
    this.account()
    this.#host.disk(-this.#reserved)
    this.#reserved = 0
    this.#host.gone()
  }

  private async append(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const room = this.room() - this.#tail.length
      if (room <= 0) {
        await this.spill()
        continue
      }
      const piece = chunk.subarray(at, at + room)
      this.#tail.append(piece)
      this.account()
      at += piece.length
      this.wake()
    }
  }

  /** How long the tail may be. */
  private room(): number {
    if (this.#file !== undefined) return BLOCK_BYTES
    return Math.min(this.#host.body, this.#tail.length + this.#host.freeMemory())
  }

  /** Writes the tail to the file. Readers find it in memory until it is there. */
  private async spill(): Promise<void> {
    const { length } = this.#tail
    this.#host.disk(length)
    this.#reserved += length
    this.#file ??= await this.#host.createFile()
    for (let at = 0; at < length; ) {
      this.check()
      const bytes = this.#tail.read(at, length)
      await this.#file.write(bytes, this.#inFile + at)
      at += bytes.length
    }
    this.check()
    this.#inFile += length
    this.#tail.clear()
    this.account()
  }

  private async readFile(at: number, length: number): Promise<Buffer> {
    try {
      const bytes = await this.#file?.read(at, length)
      if (bytes !== undefined && bytes.length > 0) return bytes
    } catch (error) {
      throw this.#state === 'gone' ? this.lost() : faultOf(error)
    }
    throw this.lost()
  }

  /** Counts a buffer of a reader. An abandoned buffer is returned when the body is disposed of. */
  private reading(length: number): void {
    if (this.#state === 'gone') return
    this.#reading += length
    this.account()
  }

  /** Reports the body's current memory to the host. */
  private account(): void {
    const memory = this.#tail.room + this.#reading
    this.#host.memory(memory - this.#memory)
    this.#memory = memory
  }

  private check(): void {
    if (this.#state === 'gone') throw this.lost()
  }

  private lost(): StoreError {
    return this.#fault ?? new StoreError('unavailable', 'the body is no longer stored')
  }

  private grown(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
    })
  }

  private wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new StoreError('full', 'no space is left on the disk for bodies', error)
    : new StoreError('unavailable', `a body cannot be written to the disk (${reasonOf(error)})`, error)
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? error.message : String(error)
}
