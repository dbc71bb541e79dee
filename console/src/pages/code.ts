/** Languages of programs that a try is shown as. */
type Language = 'js' | 'python'

/** Longest line of a list or an object that is written in one. */
const MAX_LINE_CHARS = 72
/** Texts that are longer are content of files: a program reads them itself. */
const MAX_TEXT_CHARS = 2000

const WORDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  js: { true: 'true', false: 'false', null: 'null' },
  python: { true: 'True', false: 'False', null: 'None' },
}

/** A text as both languages and JSON write it. */
const quoted = (text: string): string =>
  JSON.stringify(text.length > MAX_TEXT_CHARS ? `${text.slice(0, 24)}… (${text.length} characters)` : text)

/** A value of JSON as a literal. */
export function literal(value: unknown, language: Language, indent = ''): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return WORDS[language][String(value)] ?? String(value)
  const isList = Array.isArray(value)
  const deeper = `${indent}  `
  const entries = isList
    ? value.map(item => literal(item, language, deeper))
    : Object.entries(value).map(([name, inner]) => `${nameOf(name, language)}: ${literal(inner, language, deeper)}`)
  const [open, close] = isList ? '[]' : '{}'
  const gap = isList || entries.length === 0 ? '' : ' '
  const line = `${open}${gap}${entries.join(', ')}${gap}${close}`
  if (line.length <= MAX_LINE_CHARS && !line.includes('\n')) return line
  return `${open}\n${entries.map(entry => `${deeper}${entry},\n`).join('')}${indent}${close}`
}

function nameOf(name: string, language: Language): string {
  return language === 'js' && /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

/** Arguments of a call in Python, by their names. */
export function keywords(value: object): string {
  return Object.entries(value)
    .map(([name, inner]) => `    ${name}=${literal(inner, 'python', '    ')},\n`)
    .join('')
}

export function curl(base: string, path: string, body: object): string {
  const text = JSON.stringify(body, (_, value) => (typeof value === 'string' ? JSON.parse(quoted(value)) : value), 2)
  return `curl '${base}${path}' \\\n  -H "authorization: Bearer $GATEWAY_KEY" \\\n  -H "content-type: application/json" \\\n  -d '${text.replaceAll("'", "'\\''")}'`
}

/** The beginnings of programs with a client of each kind. The key is in `GATEWAY_KEY`. */
export const CLIENTS = {
  openaiPython: (base: string): string =>
    `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${base}/v1", api_key=os.environ["GATEWAY_KEY"])\n`,
  openaiNode: (base: string): string =>
    `import OpenAI from 'openai'\n\nconst client = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.GATEWAY_KEY })\n`,
  anthropicPython: (base: string): string =>
    `import os\nfrom anthropic import Anthropic\n\nclient = Anthropic(base_url="${base}", api_key=os.environ["GATEWAY_KEY"])\n`,
  anthropicNode: (base: string): string =>
    `import Anthropic from '@anthropic-ai/sdk'\n\nconst client = new Anthropic({ baseURL: '${base}', apiKey: process.env.GATEWAY_KEY })\n`,
  boto3: (base: string): string =>
    `import os\nimport boto3\n\nos.environ["AWS_BEARER_TOKEN_BEDROCK"] = os.environ["GATEWAY_KEY"]\nclient = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url="${base}")\n`,
  awsNode: (base: string): string =>
    `import { BedrockRuntimeClient, ConverseCommand } from '@aws-sdk/client-bedrock-runtime'\nimport { NodeHttpHandler } from '@smithy/node-http-handler'\n\nconst client = new BedrockRuntimeClient({\n  endpoint: '${base}',\n  region: 'us-east-1',\n  token: { token: process.env.GATEWAY_KEY },\n  authSchemePreference: ['httpBearerAuth'],\n  requestHandler: new NodeHttpHandler(),\n})\n`,
  genaiPython: (base: string): string =>
    `import os\nfrom google import genai\n\nclient = genai.Client(api_key=os.environ["GATEWAY_KEY"], http_options={"base_url": "${base}"})\n`,
  genaiNode: (base: string): string =>
    `import { GoogleGenAI } from '@google/genai'\n\nconst client = new GoogleGenAI({ apiKey: process.env.GATEWAY_KEY, httpOptions: { baseUrl: '${base}' } })\n`,
}
