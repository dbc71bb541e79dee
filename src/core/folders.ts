import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it that are missing, one after another: Node's `recursive` never returns where a folder that exists
 * can have none (/proc). Throws the system's error.
 */
export function makeFolderSync(path: string, mode?: number): void {
  if (isFolderSync(path)) return
  if (dirname(path) !== path) makeFolderSync(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process has made it meanwhile.
    if (!isFolderSync(path)) throw error
  }
}

function isFolderSync(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The same, without holding up the process. */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  if (await isFolder(path)) return
  if (dirname(path) !== path) await makeFolder(dirname(path), mode)
  await mkdir(path, { mode }).catch(async error => {
    if (!(await isFolder(path))) throw error
  })
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
