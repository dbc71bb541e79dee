import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, includes, streamed } from '../stage.mjs'

const FLAGS = ['--no-git', '--yes-always', '--no-pretty', '--no-show-model-warnings']
const LINE = 'The lamp is lit.'
const EDIT = `Write:\nlamp.txt\n\`\`\`\n${LINE}\n\`\`\`\n`

async function text({ run }, model) {
  includes(await run([...FLAGS, '--no-stream', '--model', model, '--message', 'Say hello']), 'You said: "Say hello')
}

/** It has no tools: its loop is an edit of a file, which the answer describes and it carries out. */
async function edits({ run, write, folder }, model) {
  write('lamp.txt', 'The lamp is dark.\n')
  const seen = await run([...FLAGS, '--model', model, '--message', EDIT, 'lamp.txt'])
  includes(seen, LINE)
  streamed(seen)
  expect(readFileSync(join(folder, 'lamp.txt'), 'utf8').trim() === LINE, 'did not edit the file', seen)
}

const speaking = (protocol, provider, environment, differs) => ({
  name: 'aider',
  protocol,
  source: { pip: 'aider-chat', version: '0.86.2' },
  command: () => ['python3', '-m', 'aider'],
  configure: ({ origin, key }) => ({ environment: environment(origin, key) }),
  example: `aider --model ${provider}/sim-text`,
  quiet: {
    AIDER_ANALYTICS_DISABLE: 'true',
    AIDER_CHECK_UPDATE: 'false',
    AIDER_SHOW_RELEASE_NOTES: 'false',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  },
  version: ['--version'],
  differs,
  capabilities: loopsOf(protocol, provider),
})

/** An edit is text and a stream as well. */
function loopsOf(protocol, provider) {
  const edited = (stage, model) => edits(stage, `${provider}/${model}`)
  if (protocol !== 'chat') return { 'text, stream, edits': edited }
  return { text: (stage, model) => text(stage, `${provider}/${model}`), 'stream, edits': edited }
}

export const aider = [
  speaking('chat', 'openai', (origin, key) => ({ OPENAI_API_BASE: `${origin}/v1`, OPENAI_API_KEY: key })),
  speaking(
    'messages',
    'anthropic',
    (origin, key) => ({ ANTHROPIC_API_BASE: origin, ANTHROPIC_API_KEY: key }),
    '`ANTHROPIC_API_BASE` (without `/v1`), `ANTHROPIC_API_KEY`, `--model anthropic/sim-text`',
  ),
  speaking(
    'generate',
    'gemini',
    (origin, key) => ({ GEMINI_API_BASE: `${origin}/v1beta`, GEMINI_API_KEY: key }),
    '`GEMINI_API_BASE` (with `/v1beta`), `GEMINI_API_KEY`, `--model gemini/sim-text`',
  ),
]
