import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { referenceFolder } from './recordings.js'

/** One message of a session, as text. */
export interface RecordedMessage {
  readonly from: 'client' | 'server'
  readonly text: string
}

/** A WebSocket session that someone recorded. */
export interface RecordedSession {
  readonly name: string
  readonly messages: readonly RecordedMessage[]
}

/** As the cassettes have them. */
interface Cassette {
  readonly interactions: readonly { readonly kind?: string; readonly direction?: string; readonly data?: unknown }[]
}

/** Cassettes hold both sides; of some sessions only what the server said was kept, an event a line. */
const CASSETTES = 'pydantic-ai/tests/realtime/cassettes'
const LINES = 'vercel-ai/packages/openai/src/speech-translation/__fixtures__'

/** All recorded realtime sessions, none (said aloud) where they are not; under `CI=true` that is an error. */
export function recordedSessions(): readonly RecordedSession[] {
  const folder = join(referenceFolder(), 'recordings')
  if (!existsSync(join(folder, CASSETTES))) {
    if (process.env.CI === 'true') throw new Error(`no recorded sessions below ${folder} (set REFERENCE_DIR)`)
    console.error(`# SKIPPED: no recorded sessions below ${folder} (set REFERENCE_DIR to run these tests)`)
    return []
  }
  const cassettes = filesOf(folder, CASSETTES, '.yaml').map(([name, text]) => ({ name, messages: fromCassette(text) }))
  const lines = filesOf(folder, LINES, '.txt').map(([name, text]) => ({ name, messages: fromLines(text) }))
  // The folder has cassettes of plain HTTP, too.
  return [...cassettes, ...lines].filter(({ messages }) => messages.length > 0)
}

function filesOf(folder: string, below: string, ending: string): [name: string, text: string][] {
  const names = readdirSync(join(folder, below), { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith(ending),
  )
  return names.sort().map(name => [name, readFileSync(join(folder, below, name), 'utf8')])
}

function fromCassette(text: string): readonly RecordedMessage[] {
  const { interactions } = parse(text) as Cassette
  const messages = interactions.filter(({ kind }) => kind === 'message')
  return messages.map(({ direction, data }) => ({
    from: direction === 'sent' ? 'client' : 'server',
    text: typeof data === 'string' ? data : JSON.stringify(data),
  }))
}

function fromLines(text: string): readonly RecordedMessage[] {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return lines.map(line => ({ from: 'server', text: line }))
}
