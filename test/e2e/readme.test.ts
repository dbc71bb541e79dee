import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'

/** Runs the examples of README, docs/sdks.md and docs/clouds.md against the shipped file. */

const README = readFileSync(join(packageRoot(), 'README.md'), 'utf8')
const EXAMPLES = readFileSync(join(packageRoot(), 'docs', 'sdks.md'), 'utf8')
const CLOUDS = readFileSync(join(packageRoot(), 'docs', 'clouds.md'), 'utf8')
const SHIPPED = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
const ADDRESS = 'http://127.0.0.1:8080'
/** The packages that docs/sdks.md shows: every SDK that the tests use. */
const SDKS = [
  'openai',
  '@anthropic-ai/sdk',
  '@google/genai',
  'ai',
  '@ai-sdk/openai',
  '@ai-sdk/anthropic',
  '@ai-sdk/google',
  'cohere-ai',
]

function fenced(language: string, page = EXAMPLES): readonly string[] {
  return [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  )
}

function shipped(t: Test): Promise<TestGateway> {
  return startTestGateway(t, SHIPPED, { env: { GATEWAY_KEY: KEY } })
}

const KEY = 'the-key-of-readme-0123456789'

t.test('docs/sdks.md shows every SDK of the tests', async t => {
  const imported = fenced('js').flatMap(text => [...text.matchAll(/from '([^']+)'/g)].map(([, name]) => name))
  t.same(imported.toSorted(), SDKS.toSorted())
  const { devDependencies } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  for (const name of SDKS) t.ok(name in devDependencies, name)
})

for (const [at, text] of [...fenced('js'), ...fenced('js', CLOUDS)].entries()) {
  t.test(`the lines for ${/from '([^']+)'/.exec(text)?.[1]} work unchanged`, async t => {
    const gateway = await shipped(t)
    // Below the package, so that its SDKs are found.
    const folder = join(t.testdir({}), String(at))
    await mkdir(folder)
    const file = join(folder, 'snippet.mjs')
    await writeFile(file, text.replaceAll(ADDRESS, gateway.origin))
    const env = { PATH: process.env.PATH, GATEWAY_KEY: KEY }
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env })
    const said = text.includes('rerank') ? /\bindex: 1\b/g : /You said: "Say hello\."/g
    const models = /for \(const model of \[(.*)\]/.exec(text)?.[1]?.split('), ').length ?? 1
    t.equal(stdout.match(said)?.length, models, stdout)
  })
}

async function asks(t: Test, url: string, headers: Readonly<Record<string, string>>, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  t.equal(answer.status, 200, text)
  t.match(text, 'Say hello.')
}

t.test('README shows one of the examples', async t => {
  for (const text of fenced('js', README)) t.ok(fenced('js').includes(text))
})

t.test('the settings for coding agents reach the endpoints that these agents call', async t => {
  const { origin } = await shipped(t)
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const [toml = ''] = fenced('toml')
  const setting = (name: string) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(toml)?.[1] ?? ''
  t.equal(setting('env_key'), 'GATEWAY_KEY')
  t.equal(setting('wire_api'), 'responses')
  const model = setting('model')
  const base = setting('base_url').replace(ADDRESS, origin)
  await asks(t, `${base}/responses`, { authorization: `Bearer ${KEY}` }, { model, input: 'Say hello.' })

  const shell = fenced('sh').join('\n')
  const variable = (name: string) =>
    (new RegExp(`\\b${name}=(\\S+)`).exec(shell)?.[1] ?? '').replace(ADDRESS, origin).replace('$GATEWAY_KEY', KEY)
  const google = { 'x-goog-api-key': variable('GEMINI_API_KEY') }
  const contents = [{ role: 'user', parts: [{ text: 'Say hello.' }] }]
  const named = /gemini -m (\S+)/.exec(shell)?.[1]
  await asks(t, `${variable('GOOGLE_GEMINI_BASE_URL')}/v1beta/models/${named}:generateContent`, google, { contents })

  const bearer = { authorization: `Bearer ${variable('ANTHROPIC_AUTH_TOKEN')}`, 'anthropic-version': '2023-06-01' }
  const asked = { model: /claude --model (\S+)/.exec(shell)?.[1], max_tokens: 100, messages }
  await asks(t, `${variable('ANTHROPIC_BASE_URL')}/v1/messages`, bearer, asked)
})

t.test('the file in README is valid', async t => {
  const [file = ''] = fenced('yaml', README).filter(text => text.startsWith('version: 1'))
  const gateway = await startTestGateway(t, file, {
    env: { TEAM_KEY: KEY, OPENAI_API_KEY: KEY, GROQ_API_KEY: KEY, ANTHROPIC_API_KEY: KEY },
  })
  t.same(gateway.gateway.loaded.problems, [])
})

t.test('the commands that README names exist, and so do the files that it links', async t => {
  const main = readFileSync(join(packageRoot(), 'src', 'cli', 'main.ts'), 'utf8')
  const camelCase = (words: string): string => words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  for (const [, words = ''] of README.matchAll(/^\| `gateway ([\w-]+)/gm)) t.match(main, `${camelCase(words)}Command`)
  for (const [, link = ''] of README.matchAll(/\]\((?!http)([^)#]+)/g)) t.ok(readable(join(packageRoot(), link)), link)
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  t.match(README, `model-gateway-${version}.tgz`)
})

function readable(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR'
  }
}
