import { chmod, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'

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
