import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** A golden file: rule lines, the files of a configuration, and what a person reads. */
export interface GoldenFile {
  /** Everything before the output, as it is written. */
  readonly head: string
  readonly files: Readonly<Record<string, string>>
  readonly output: string
}

/** Reads `--- file: gateway.yaml` sections and the one after `--- output`. */
export function parseGolden(text: string): GoldenFile {
  const sections = text.split(/^(?=--- (?:file: .+|output)$)/m).filter(part => part.startsWith('--- '))
  const files: Record<string, string> = {}
  let output = ''
  for (const section of sections) {
    const newline = section.indexOf('\n')
    const title = section.slice('--- '.length, newline)
    const content = section.slice(newline + 1)
    if (title === 'output') output = content
    else files[title.slice('file: '.length)] = content
  }
  return { head: text.slice(0, text.indexOf('--- output\n')), files, output }
}

const COMMANDS = join(packageRoot(), 'test/golden/commands')

/** Compares what a command prints with its golden text. UPDATE_GOLDEN=1 writes it. */
export function sameAsGolden(t: Test, name: string, text: string): void {
  const file = join(COMMANDS, `${name}.txt`)
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(COMMANDS, { recursive: true })
    writeFileSync(file, text)
  }
  t.equal(text, readFileSync(file, 'utf8'), `what ${name} prints`)
}
