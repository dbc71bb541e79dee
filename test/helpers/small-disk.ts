import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporary } from './store-kinds.js'

/** Why tests that need a small disk are skipped here. */
export const withoutSmallDisk: false | string = mayMount() ? false : 'a small disk takes the right to mount one'

function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-disk-'))
  try {
    mount(folder, '64k')
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function mount(folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'ignore' })
}

/** A folder that is a file system of its own, of a size such as `2m`. */
export function smallDisk(test: Test, size: string): string {
  const folder = temporary(test)
  mount(folder, size)
  test.teardown(() => unmount(folder))
  return folder
}

/** Takes all the room that is left; what it returns gives that back. */
export function fillDisk(folder: string): () => void {
  const filler = join(folder, 'filler')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(filler, Buffer.alloc(bavail * bsize))
  return () => rmSync(filler)
}
