import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { MESSAGES_WITH_NEXT_STEPS, nextStep } from '../../src/sinks/next-steps.js'

const root = join(packageRoot(), 'src')
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts') && !name.endsWith('next-steps.ts'))
  .map(name => readFileSync(join(root, name), 'utf8'))

t.test('each message with a next step is one that the sources write', async t => {
  for (const message of MESSAGES_WITH_NEXT_STEPS)
    t.ok(
      sources.some(source => source.includes(`'${message}'`)),
      message,
    )
})

/** A call of the log with its message as it is written: `.warn({ … }, '…')`. */
const WARNING = /[lL]og\??\.(?:warn|error)\(\s*(?:\{[^{}]*\}|\w+),\s*'((?:[^'\\]|\\.)+)'/g

t.test('each warning of the process says what to do next, in the line or beside it', async t => {
  const messages = sources.flatMap(source => [...source.matchAll(WARNING)].map(([, message]) => message ?? ''))
  t.ok(messages.length > 12, `${messages.length} found`)
  // Some say it themselves, behind a colon.
  for (const message of messages) t.ok(nextStep(message) !== undefined || message.includes(': '), message)
})
