import type { Json, JsonObject } from '../../core/json.js'
import type { Position } from '../../core/problems.js'

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
  /** Virtual time before it is sent. */
  readonly after?: string
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
  /** Faults of the simulator by name; true: without a value. */
  readonly simulator?: Readonly<Record<string, string | number | boolean>>
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
  /** Files whose content answers. */
  readonly bodies: readonly string[]
}
