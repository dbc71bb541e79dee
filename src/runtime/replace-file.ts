import { chmod, mkdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes beside the file and renames, so that no one who watches it reads half of it. A link still leads to the file. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const real = await realpath(file)
  const fresh = `${real}.new-${process.pid}`
  try {
    await writeFile(fresh, text, { flag: 'wx' })
    await chmod(fresh, (await stat(real)).mode)
    await rename(fresh, real)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

/** Writes a file that is not there, for its owner alone: no one knows who could read the former one. */
export async function createFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text, { flag: 'wx', mode: 0o600 })
}
