import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { checkSchema } from '../../config/schema-check.js'
import { Source } from '../../config/source.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Position, Problem } from '../../core/problems.js'

/** One test, as `schemas/test.schema.json` describes it. */
export interface TestCase {
  readonly title: string
  readonly position: Position
  /** Sent first, in turn. */
  readonly before: readonly TestRequest[]
  readonly request: TestRequest
  readonly upstream: Readonly<Record<string, Script>>
  readonly expect: Expect
}

export interface TestRequest {
  readonly to: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
  /** Messages of a WebSocket. */
  readonly send?: readonly Json[]
  /** Of a WebSocket the type of its last message; of others the status until which the request is repeated. */
  readonly until?: string
}

export interface Script {
  readonly answer?: ScriptedAnswer
  readonly answers?: readonly ScriptedAnswer[]
  readonly recordings?: string
}

export type SnapshotPart = 'status' | 'sent' | 'body' | 'text' | 'dropped' | 'calls'

/** One of these. `await`: the type of a client's message. */
export interface SessionStep {
  readonly send?: Json
  readonly await?: string
  readonly close?: number
}

export interface ScriptedAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
  readonly events?: readonly Json[]
  /** Of a WebSocket. */
  readonly session?: readonly SessionStep[]
  readonly fault?: 'reset' | 'hang' | 'cut' | 'stall'
  /** Virtual time before it begins. */
  readonly after?: string
}

export interface Expect {
  readonly status?: number
  readonly upstream?: string
  readonly calls?: readonly string[]
  readonly sent?: JsonObject
  readonly headers?: JsonObject
  readonly body?: JsonObject
  readonly text?: string
  readonly dropped?: readonly string[]
  readonly error?: string
  readonly cost?: number | string
  readonly snapshot?: readonly SnapshotPart[]
}

export interface TestFile {
  readonly file: string
  /** The configuration that is tested, absolute. */
  readonly config: string
  readonly tests: readonly TestCase[]
}

/** Reads a file of tests and holds it against its schema. */
export async function readTests(file: string): Promise<TestFile | { readonly problems: readonly Problem[] }> {
  const report = new Report()
  const document = parse(new Source(file, await readFile(file, 'utf8')), false, report)
  if (document !== undefined) checkSchema(document, 'test', report)
  if (document === undefined || report.failed) return { problems: report.sorted() }
  const value = document.tree.value as unknown as {
    readonly config?: string
    readonly tests: Readonly<Record<string, Omit<TestCase, 'title' | 'position'>>>
  }
  const tests = Object.entries(value.tests).map(([title, test]): TestCase => {
    const { position } = document.spot(['tests', title], 'key')
    return {
      title,
      position,
      before: test.before ?? [],
      request: test.request,
      upstream: test.upstream ?? {},
      expect: test.expect,
    }
  })
  return { file, config: resolve(dirname(file), value.config ?? 'gateway.yaml'), tests }
}
