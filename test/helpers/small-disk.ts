import { execFileSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporary } from './store-kinds.js'

/** A folder that is a file system of its own, of a size such as `2m`; undefined where this process may not mount one, which is said. */
export function smallDisk(test: Test, size: string): string | undefined {
  const folder = temporary(test)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    test.comment('SKIPPED: a small disk takes the right to mount one')
    return undefined
  }
  test.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

/** Takes all the room that is left; what it returns gives that back. */
export function fillDisk(folder: string): () => void {
  const filler = join(folder, 'filler')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(filler, Buffer.alloc(bavail * bsize))
  return () => rmSync(filler)
}
