import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { SpoolConfig } from '../core/process-config.js'
import type { StoreConfig } from '../core/store-config.js'
import { type Context, interpolate } from './context.js'
import type { Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import { readSize } from './settings.js'
import { parseSize } from './units.js'

const MAX_DISK_BYTES = 2 ** 40

/** Where bodies are held that are too large for memory: a folder of their own beside the store, or among the system's. */
export function readSpool(main: Document, site: Site, store: StoreConfig, context: Context): SpoolConfig {
  const raw = sectionOf(main, 'spool') ?? {}
  const size = (name: 'body' | 'memory'): number => {
    const written = raw[name]
    return written === undefined ? DEFAULTS.spool[name] : readSize(written, site.child(name), context)
  }
  return {
    path:
      raw.path === undefined
        ? defaultFolder(main, store)
        : folderOf(interpolate(raw.path, site.child('path'), context), main),
    body: size('body'),
    memory: size('memory'),
    disk: diskOf(raw.disk ?? DEFAULTS.spool.disk, site.child('disk'), context),
  }
}

/** Disks are larger than what fits into memory. */
function diskOf(written: string | number, site: Site, context: Context): number {
  const bytes = parseSize(interpolate(written, site, context), MAX_DISK_BYTES)
  if (bytes === undefined) context.report.error('bad-value', site, 'expected a size such as 2GiB, under 1024GiB')
  return bytes ?? 1
}

function folderOf(written: string, main: Document): string {
  return resolve(main.source.folder, written)
}

/**
 * In the data folder, if the file names one. Else of this user alone: what another one makes under that name cannot be
 * used. By number, since a container's user often has no name, and `userInfo` throws then.
 */
function defaultFolder(main: Document, { type, path }: StoreConfig): string {
  if (type === 'file' || sectionOf(main, 'store')?.path !== undefined) return join(path, 'spool')
  return join(tmpdir(), `model-gateway-spool-${process.getuid?.() ?? userInfo().username}`)
}
