import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const ADDRESS = 'http://127.0.0.1:8080'
const ADMIN_ADDRESS = 'http://127.0.0.1:8081'
const MISTAKEN = `version: 1
keys: { team: { secret: { env: TEAM_KEY }, models: ["gpt-*", fast] } }
upstreams:
  openai: { kind: openai, secret: { env: OPENAI_API_KEY } }
  groq: { kind: groq, secret: { env: GROQ_API_KEY } }
models:
  "gpt-*": openai
  fast: [{ upstream: grok, as: llama-3.3-70b-versatile }, openai]
limits: { body: 20 }
`

/** The generated part of README: the start of the shipped file, a mistake in another one, and the shipped kinds of upstream. */
export async function pictures(built) {
  return [
    'Starting the shipped file:',
    block(await start(built)),
    'A mistake stops a start; in a running gateway it is logged, and nothing changes:',
    block(await mistake(built)),
    `Shipped providers, each with the variable of its key: ${await kinds(built)}.`,
  ].join('\n\n')
}

function block(text) {
  return `\`\`\`text\n${text.trim()}\n\`\`\``
}

async function start(built) {
  const { loadPlan } = await built('runtime/load.js')
  const { banner } = await built('cli/banner.js')
  const { ADMIN_KEY } = await built('plan/keys.js')
  const { Secret } = await built('core/secret.js')
  const secret = new Secret('gw-a-key-that-is-made-for-this-picture-alone')
  const file = fileURLToPath(new URL('gateway.yaml', root))
  const { plan, config } = await loadPlan({ file, env: {}, generated: () => secret })
  const kept = new Map(
    ['local', ADMIN_KEY].map(name => [name, { secret, file: `data/keys/${encodeURIComponent(name)}`, made: true }]),
  )
  const text = banner(
    { plan, config, kept, origin: ADDRESS, adminOrigin: ADMIN_ADDRESS, env: {} },
    { colour: false, shows: 'never' },
  )
  return `$ npx gateway serve\n${text}`
}

async function mistake(built) {
  const { loadPlan } = await built('runtime/load.js')
  const { formatProblems } = await built('config/problems.js')
  const folder = mkdtempSync(join(tmpdir(), 'picture-'))
  try {
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, MISTAKEN)
    const { problems } = await loadPlan({ file, env: {}, secrets: 'assume' })
    const text = formatProblems(problems, { color: false }).replaceAll(file, 'gateway.yaml')
    return `$ npx gateway validate\n${text}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function kinds(built) {
  const { providers } = await built('cli/providers.js')
  const known = await providers()
  return known.map(({ name, variable }) => `\`${name}\`${variable === undefined ? '' : ` (${variable})`}`).join(', ')
}
