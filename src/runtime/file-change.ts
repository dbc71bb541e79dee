import { randomUUID } from 'node:crypto'
import { chmod, chown, constants, copyFile, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../core/folders.js'

/** A file as it shall be. Without a text it shall not be there. `before`: what it must say until then. */
export interface Wanted {
  readonly path: string
  readonly text: string | undefined
  readonly before?: string
}

interface Step extends Wanted {
  /** The file itself where `path` is a link. */
  readonly real: string
  /** Beside the file: its new text, and its former one. */
  readonly fresh: string | undefined
  readonly former: string | undefined
}

/** A file that could not be written. */
export class UnwrittenError extends Error {
  override readonly name = 'UnwrittenError'
}

/** Someone else has changed a file, or writes it at the moment. */
export class ConflictError extends UnwrittenError {
  readonly code = 'it has changed meanwhile'

  constructor(path: string) {
    super(`${path} has changed meanwhile`)
  }
}

/** What a process that was killed has left is in no one's way after so long, milliseconds. */
const LEFT_BEHIND_MS = 60_000

/**
 * Several files that change together, or not at all. What takes room or rights is done beside them first; then each
 * only takes another name, both forward and back. A link still leads to its file.
 */
export class FileChange {
  readonly #steps: readonly Step[]
  /** Those that have changed, in that order. */
  readonly #made: Step[] = []
  /** Files beside them that the end removes. */
  readonly #beside = new Set<string>()

  private constructor(steps: readonly Step[]) {
    this.#steps = steps
  }

  /** Changes them at once. Rejects with {@link UnwrittenError}; then none has changed. */
  static async apply(files: readonly Wanted[]): Promise<void> {
    const change = await FileChange.stage(files)
    try {
      await change.make()
    } catch (error) {
      await change.undo()
      throw error
    } finally {
      await change.end()
    }
  }

  static async stage(files: readonly Wanted[]): Promise<FileChange> {
    const steps: Step[] = []
    const change = new FileChange(steps)
    try {
      for (const { path, text, before: expected } of files) {
        const before = await textAt(path)
        if (expected !== undefined && before !== expected) throw new ConflictError(path)
        if (text === before) continue
        const real = before === undefined ? path : await realpath(path)
        const fresh = text === undefined ? undefined : `${real}.being-written`
        const former = before === undefined ? undefined : `${real}.old-${randomUUID()}`
        const step = { path, text, ...(before === undefined ? {} : { before }), real, fresh, former }
        await named(path, async () => {
          if (former === undefined) await makeFolder(dirname(real))
          else change.#beside.add(former)
          if (fresh !== undefined) await claim(fresh, path)
          if (fresh !== undefined) change.#beside.add(fresh)
          await fill(step)
        })
        steps.push(step)
      }
    } catch (error) {
      await change.end()
      throw error
    }
    return change
  }

  async make(): Promise<void> {
    for (const step of this.#steps) {
      const { path, text, before, real, fresh } = step
      await named(path, async () => {
        if ((await textAt(path)) !== before) throw new ConflictError(path)
        if (fresh !== undefined && (await textAt(fresh)) !== text) {
          // It is another's now, who took it for a leftover.
          this.#beside.delete(fresh)
          throw new ConflictError(path)
        }
        await (fresh === undefined ? rm(real) : rename(fresh, real))
      })
      this.#made.push(step)
      // From now on the name may be another process's.
      if (fresh !== undefined) this.#beside.delete(fresh)
    }
  }

  /** Every file that can be is as it was. Of the others it returns where their former text is. */
  async undo(): Promise<readonly string[]> {
    const lost: string[] = []
    for (const { path, text, real, former } of this.#made.splice(0).reverse()) {
      try {
        if ((await textAt(path)) !== text) throw new ConflictError(path)
        if (former === undefined) await rm(real, { force: true })
        else await rename(former, real)
      } catch (error) {
        if (former !== undefined) this.#beside.delete(former)
        lost.push(`${path} (${codeOf(error)}${former === undefined ? '' : `; its former text is in ${former}`})`)
      }
    }
    return lost
  }

  /** Nothing remains beside the files but what could not be put back. */
  async end(): Promise<void> {
    for (const path of this.#beside) await rm(path, { force: true }).catch(() => undefined)
  }
}

/** Undefined: there is no such file. */
async function textAt(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
}

/** All processes that would write a file need the same name for it: one of them gets it. */
async function claim(fresh: string, path: string): Promise<void> {
  if (await isLeftBehind(fresh)) await removeLeft(fresh)
  // Of a file that is new no one knows who may read it but its owner.
  await writeFile(fresh, '', { flag: 'wx', mode: 0o600 }).catch(error => {
    throw error.code === 'EEXIST' ? new ConflictError(path) : error
  })
}

/** Also where others remove it at the same time, and one of them has claimed the name since. */
async function removeLeft(fresh: string): Promise<void> {
  const taken = `${fresh}.${randomUUID()}`
  const isTaken = await rename(fresh, taken).then(
    () => true,
    () => false,
  )
  if (!isTaken) return
  await ((await isLeftBehind(taken)) ? rm(taken, { force: true }) : rename(taken, fresh))
}

async function isLeftBehind(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > LEFT_BEHIND_MS
}

async function fill({ real, fresh, former, text = '' }: Step): Promise<void> {
  if (former !== undefined) await copyFile(real, former, constants.COPYFILE_EXCL)
  if (fresh !== undefined) await writeFile(fresh, text)
  if (former === undefined) return
  const { mode, uid, gid } = await stat(real)
  for (const copy of [former, ...(fresh === undefined ? [] : [fresh])]) {
    // Only root may give files away; without that right they are the writer's.
    await chown(copy, uid, gid).catch(() => undefined)
    await chmod(copy, mode)
  }
}

async function named(path: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (cause) {
    if (cause instanceof ConflictError) throw cause
    throw new UnwrittenError(`${path} cannot be written (${codeOf(cause)})`, { cause })
  }
}

/** `EACCES`, or what else is known. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
