import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let found: string | undefined

/** Absolute path of the folder that holds this package's `routes/` and `schemas/`, wherever it was built or installed. */
export function packageRoot(): string {
  found ??= search(dirname(fileURLToPath(import.meta.url)))
  return found
}

function search(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file) && isOurs(file)) return folder
    if (folder === dirname(folder)) throw new Error("the gateway's package is incomplete: its package.json is missing")
  }
}

function isOurs(file: string): boolean {
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === 'model-gateway'
}
