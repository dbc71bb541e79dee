import { firstFile } from '../install.mjs'
import { expect, includes, jsonLines, SECRET, streamed } from '../stage.mjs'

const BINARIES = ['', '-musl', '-baseline'].map(
  variant => `node_modules/opencode-${process.platform}-${process.arch}${variant}/bin/opencode`,
)

/** It speaks each protocol through another package of its own. */
const speaking = (protocol, npm, path, differs) => ({
  name: 'opencode',
  protocol,
  source: { npm: 'opencode-ai', version: '1.18.33' },
  command: folder => [firstFile(folder, BINARIES)],
  configure: ({ origin, key, models }) => {
    const options = { baseURL: `${origin}${path}`, apiKey: '{env:GATEWAY_KEY}' }
    const gateway = { npm, options, models: Object.fromEntries(models.map(model => [model, {}])) }
    return {
      files: { '.config/opencode/opencode.json': JSON.stringify({ provider: { gateway } }, null, 2) },
      environment: { GATEWAY_KEY: key },
    }
  },
  example: 'opencode run -m gateway/sim-text "Say hello"',
  quiet: {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  },
  version: ['--version'],
  differs: differs && `\`"npm": "${npm}"\`${differs === true ? '' : ` and ${differs}`}`,
})

async function tools({ run, note }, model) {
  const seen = await run(['run', '--format', 'json', '-m', `gateway/${model}`, `Use read with filePath=${note}`])
  const parts = jsonLines(seen).flatMap(({ part }) => (part === undefined ? [] : [part]))
  expect(
    parts.some(({ tool, state }) => tool === 'read' && state?.status === 'completed'),
    'has no result',
    seen,
  )
  expect(parts.findLast(({ type }) => type === 'text')?.text.includes(SECRET), 'has no answer', seen)
  streamed(seen)
}

async function text({ run }, model) {
  const seen = await run(['run', '-m', `gateway/${model}`, 'Say hello'])
  includes(seen, 'Say hello')
  streamed(seen)
}

/** A tool loop is text and a stream as well. */
const whole = { 'text, stream, tools': tools }

export const opencode = [
  { ...speaking('chat', '@ai-sdk/openai-compatible', '/v1'), capabilities: { 'text, stream': text, tools } },
  { ...speaking('responses', '@ai-sdk/openai', '/v1', true), capabilities: whole },
  { ...speaking('messages', '@ai-sdk/anthropic', '/v1', true), capabilities: whole },
  { ...speaking('generate', '@ai-sdk/google', '/v1beta', 'a `baseURL` that ends in `/v1beta`'), capabilities: whole },
]
