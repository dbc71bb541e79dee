import { chmod, chown, constants, copyFile, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../core/folders.js'

/** A file as it shall be. Without a text it shall not be there. */
interface Wanted {
  readonly path: string
  readonly text: string | undefined
}

interface Step {
  /** As it was named, and the file itself where that is a link. */
  readonly path: string
  readonly real: string
  /** Beside the file: its new text, and its former one. */
  readonly fresh: string | undefined
  readonly former: string | undefined
}

/** A file that could not be written. */
export class UnwrittenError extends Error {
  override readonly name = 'UnwrittenError'
}

/**
 * Several files that change together, or not at all. What takes room or rights is done beside them first; then each
 * only takes another name, both forward and back. A link still leads to its file.
 */
export class FileChange {
  readonly #steps: readonly Step[]
  /** Those that have changed, in that order. */
  readonly #made: Step[] = []
  /** Former texts that are the only ones left. */
  readonly #kept = new Set<string>()

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
      for (const { path, text } of files) {
        const before = await textAt(path)
        if (text === before) continue
        const real = before === undefined ? path : await realpath(path)
        const fresh = text === undefined ? undefined : `${real}.new-${process.pid}`
        const former = before === undefined ? undefined : `${real}.old-${process.pid}`
        steps.push({ path, real, fresh, former })
        await named(path, () => beside({ real, fresh, former }, text ?? ''))
      }
    } catch (error) {
      await change.end()
      throw error
    }
    return change
  }

  async make(): Promise<void> {
    for (const step of this.#steps) {
      const { path, real, fresh } = step
      await named(path, () => (fresh === undefined ? rm(real) : rename(fresh, real)))
      this.#made.push(step)
    }
  }

  /** Every file that can be is as it was. Of the others it returns where their former text is. */
  async undo(): Promise<readonly string[]> {
    const lost: string[] = []
    for (const { path, real, former } of this.#made.splice(0).reverse()) {
      try {
        if (former === undefined) await rm(real, { force: true })
        else await rename(former, real)
      } catch (error) {
        if (former !== undefined) this.#kept.add(former)
        lost.push(`${path} (${codeOf(error)}${former === undefined ? '' : `; its former text is in ${former}`})`)
      }
    }
    return lost
  }

  /** Nothing remains beside the files but what could not be put back. */
  async end(): Promise<void> {
    for (const { fresh, former } of this.#steps) {
      for (const path of [fresh, former]) {
        if (path !== undefined && !this.#kept.has(path)) await rm(path, { force: true }).catch(() => undefined)
      }
    }
  }
}

/** Undefined: there is no such file. */
async function textAt(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
}

async function beside({ real, fresh, former }: Omit<Step, 'path'>, text: string): Promise<void> {
  if (former === undefined) await makeFolder(dirname(real))
  else await copyFile(real, former, constants.COPYFILE_EXCL)
  // Of a file that is new no one knows who may read it but its owner.
  if (fresh !== undefined) await writeFile(fresh, text, { flag: 'wx', mode: 0o600 })
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
    throw new UnwrittenError(`${path} cannot be written (${codeOf(cause)})`, { cause })
  }
}

/** `EACCES`, or what else is known. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
