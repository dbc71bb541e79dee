import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../config/units.js'
import { packageRoot } from '../core/package-root.js'
import { MAX_WORKERS, type WorkerCount, workerCount } from '../core/worker-count.js'
import type { Io } from './io.js'

/** What a command's file exports: it adds itself to `parent`, and hands its exit code to `end`. */
export type Define = (parent: Command, io: Io, end: (code: number) => void) => void

export const DEFAULT_FILE = 'gateway.yaml'

/** The lines below a command's help. */
export function example(...lines: readonly string[]): string {
  return `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map(line => `  $ ${line}`).join('\n')}`
}

export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  return known ? String(manifest.version) : 'unknown'
}

/** For options that take a port; 0 is any free one. */
export function port(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(number <= 65_535)) throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return number
}

/** For options that take a number of workers. */
export function workers(text: string): WorkerCount {
  const count = workerCount(text)
  if (count === undefined) throw new InvalidArgumentError(`Expected auto, or a number from 1 to ${MAX_WORKERS}.`)
  return count
}

/** For options that take a duration between two, milliseconds. */
export function duration(expected: string, least = 0, most = Number.POSITIVE_INFINITY): (text: string) => number {
  return text => {
    const milliseconds = parseDuration(text)
    if (milliseconds === undefined || milliseconds < least || milliseconds > most)
      throw new InvalidArgumentError(`Expected ${expected}.`)
    return milliseconds
  }
}

/** For options that say how often something is asked. */
export const poll = duration('a duration from 1s to 24h, such as 30s', 1000, 24 * 3_600_000)

/** For options that take a list, separated by commas. */
export function list(text: string): readonly string[] {
  const names = text.split(',').map(name => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('Names are separated by single commas.')
  return names
}
