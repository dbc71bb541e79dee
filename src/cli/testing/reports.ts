import { shownFile } from '../../config/problems.js'
import type { Position } from '../../core/problems.js'
import { type Covered, coverageLines } from './coverage.js'
import type { TestCase } from './test-file.js'

export const TEST_FORMATS = ['tap', 'junit', 'github', 'json'] as const
export type TestFormat = (typeof TEST_FORMATS)[number]

/** One test and what came of it. */
export interface Done {
  readonly test: TestCase
  readonly faults: readonly string[]
  /** Real time, milliseconds. */
  readonly milliseconds: number
}

export interface DoneFile {
  readonly file: string
  readonly done: readonly Done[]
  readonly coverage: readonly Covered[]
}

/** The whole report. */
export const REPORTS: Readonly<Record<TestFormat, (files: readonly DoneFile[]) => string>> = {
  tap,
  junit,
  github,
  json,
}

/** https://testanything.org/tap-version-14-specification.html */
function tap(files: readonly DoneFile[]): string {
  let number = 0
  const lines = files.flatMap(({ done, coverage }) => [
    ...done.map(one => tapOf(++number, one)),
    ...coverageLines(coverage).map(line => `# ${line}`),
  ])
  return ['TAP version 14', `1..${number}`, ...lines].join('\n')
}

function tapOf(number: number, { test, faults }: Done): string {
  const name = test.title.replaceAll(/[\\#]/g, '\\$&')
  if (faults.length === 0) return `ok ${number} - ${name}`
  const lines = faults.map(fault => `    - ${JSON.stringify(fault)}`)
  return [
    `not ok ${number} - ${name}`,
    '  ---',
    `  at: ${JSON.stringify(placeOf(test))}`,
    '  faults:',
    ...lines,
    '  ...',
  ].join('\n')
}

/** The XML that CI systems read: https://github.com/testmoapp/junitxml */
function junit(files: readonly DoneFile[]): string {
  const suites = files.map(({ file, done }) => {
    const failures = done.filter(({ faults }) => faults.length > 0).length
    const name = attribute(shownFile(file))
    return [
      `  <testsuite name="${name}" tests="${done.length}" failures="${failures}">`,
      ...done.map(one => caseOf(one, name)),
      '  </testsuite>',
    ].join('\n')
  })
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>'].join('\n')
}

function caseOf({ test, faults, milliseconds }: Done, suite: string): string {
  const { title, position } = test
  const head = `    <testcase name="${attribute(title)}" classname="${suite}" file="${suite}" line="${position.line}" time="${(milliseconds / 1000).toFixed(3)}"`
  if (faults.length === 0) return `${head}/>`
  const text = faults.map(attribute).join('\n')
  return `${head}>\n      <failure message="${attribute(faults[0] ?? '')}">${text}</failure>\n    </testcase>`
}

/** What XML takes; control characters have no place in it. */
function attribute(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  const plain = text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ' ')
  return plain.replaceAll(/[&<>"]/g, one => `&#${one.charCodeAt(0)};`)
}

/** Annotations of GitHub Actions, and a last line with the sum. */
function github(files: readonly DoneFile[]): string {
  const all = files.flatMap(({ done }) => done)
  const failed = all.filter(({ faults }) => faults.length > 0)
  const plain = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  const property = (text: string): string => plain(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
  const lines = failed.map(({ test: { title, position }, faults }) => {
    const place = `file=${property(shownFile(position.file))},line=${position.line},col=${position.column}`
    return `::error ${place},title=${property(title)}::${plain(faults.join('\n'))}`
  })
  return [...lines, `${all.length - failed.length} of ${all.length} tests passed`].join('\n')
}

/** One document with all results, and all that tests may touch. */
function json(files: readonly DoneFile[]): string {
  const shown = (position: Position): Position => ({ ...position, file: shownFile(position.file) })
  const list = files.map(({ file, done, coverage }) => ({
    file: shownFile(file),
    tests: done.map(({ test: { title, position }, faults, milliseconds }) => ({
      ...{ title, position: shown(position), ok: faults.length === 0, faults, milliseconds },
    })),
    coverage: coverage.map(one => (one.position === undefined ? one : { ...one, position: shown(one.position) })),
  }))
  return JSON.stringify({ files: list }, undefined, 2)
}

function placeOf({ position }: TestCase): string {
  return `${shownFile(position.file)}:${position.line}:${position.column}`
}
