import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../src/core/package-root.js'

/** One recorded exchange; the response's body is text, decompressed. */
export interface Recording {
  readonly file: string
  readonly n: number
  readonly provider: string
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
}

/** Folder of reference data, named by `REFERENCE_DIR` or beside the checkout; it is not part of the project. */
export function referenceFolder(): string {
  return process.env.REFERENCE_DIR ?? join(packageRoot(), '..', 'shared', 'reference')
}

/** Where the recordings lie, or `undefined` (said aloud) where they do not; under `CI=true` that is an error. */
export function recordingsFile(): string | undefined {
  const file = join(referenceFolder(), 'recordings', 'exchanges.jsonl')
  if (existsSync(file)) return file
  if (process.env.CI === 'true') throw new Error(`no recordings: ${file} is missing (set REFERENCE_DIR)`)
  console.error(`# SKIPPED: no recordings at ${file} (set REFERENCE_DIR to run these tests)`)
  return undefined
}

/** Reads recordings line by line. */
export async function* readRecordings(file: string): AsyncGenerator<Recording> {
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') yield JSON.parse(line) as Recording
}
