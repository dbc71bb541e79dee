import { lstatSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { lstat, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** How often a folder is made that others remove again. */
const MAX_TRIES = 100

/**
 * Makes a folder and those above it that are missing, one after another: Node's `recursive` never returns where a folder that exists
 * can have none (/proc). Throws the system's error.
 */
export function makeFolderSync(path: string, mode?: number): void {
  if (isFolderSync(path)) return
  if (dirname(path) !== path) makeFolderSync(dirname(path), mode)
  for (let tries = 1; ; tries++) {
    try {
      mkdirSync(path, { mode })
      return
    } catch (error) {
      if (isFolderSync(path)) return
      if (tries === MAX_TRIES || !isTaken(error) || !mayBeMade(lstatSync(path, { throwIfNoEntry: false }))) throw error
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'EEXIST'
}

/** Another process has made the folder and removed it again meanwhile. A link that leads nowhere stays as it is. */
function mayBeMade(found: Stats | undefined): boolean {
  return found === undefined || found.isDirectory()
}

function isFolderSync(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The same, without holding up the process. */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  if (await isFolder(path)) return
  if (dirname(path) !== path) await makeFolder(dirname(path), mode)
  for (let tries = 1; ; tries++) {
    try {
      await mkdir(path, { mode })
      return
    } catch (error) {
      if (await isFolder(path)) return
      const found = await lstat(path).catch(() => undefined)
      if (tries === MAX_TRIES || !isTaken(error) || !mayBeMade(found)) throw error
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
