import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../core/package-root.js'
import { withSlashes } from '../core/platform.js'
import type { Provider } from './providers.js'

/** An upstream that the new file is to have. */
export interface Chosen extends Provider {
  /** Where this one is reached, where the user said so. */
  readonly address: string | undefined
}

/** The text of a new gateway.yaml. `variable` holds the caller's key. */
export function template(file: string, chosen: readonly Chosen[], variable: string): string {
  return `${schemaLine(file)}# The gateway's configuration. Edit it while the gateway runs: valid changes go live at once; invalid ones are reported
# with file and line, and nothing changes.
#
#   gateway validate FILE    checks it        gateway explain -f FILE    prints the plan

version: 1
listen: { host: 127.0.0.1, port: 8080 }
store: { type: file, path: ./data }

# Who may call, and which models they may use. If ${variable} is not set, the first start creates a key in data/keys.
# \`gateway keys new NAME\` creates keys for others.
keys:
  local: { secret: { env: ${variable}, generate: true }, models: ["*"] }

# Where requests go. A kind knows a provider's address, paths and credential placement.
# An upstream whose secret is not set is off, and so are its models: set the variable to turn them on.
upstreams:
${chosen.map(upstream).join('\n')}

# The names that clients use, one line each. Exact names win over globs; globs are tried in this order.
models:
${models(chosen).join('\n')}
`
}

/** Where editors find the schema: by a path that holds on other machines where it lies below the file's own folder. */
function schemaLine(file: string): string {
  const schema = resolve(packageRoot(), 'schemas', 'gateway.schema.json')
  const path = withSlashes(relative(dirname(resolve(file)), schema))
  const isBelow = !path.startsWith('..') && !isAbsolute(path) && !/\s/.test(path)
  return `# yaml-language-server: $schema=${isBelow ? `./${path}` : pathToFileURL(schema).href}\n#\n`
}

/** Never resolves (RFC 2606, section 2), so that no key is sent to a stranger. */
function placeholder(name: string, hasRegion: boolean): string {
  return `https://${name}${hasRegion ? '.us-east-1' : ''}.invalid`
}

function upstream({ name, description, base, address, variable, hasRegion, takesSecret, wantsLimit }: Chosen): string {
  const fields = [`kind: ${name}`]
  const where = address ?? (base === undefined ? placeholder(name, hasRegion) : undefined)
  if (where !== undefined) fields.push(`base: ${JSON.stringify(where)}`)
  if (variable !== undefined) fields.push(`secret: { env: ${variable} }`)
  if (wantsLimit) fields.push('traits: { max_output: 8192 }')
  const lines = [`  # ${description}`, `  ${name}: { ${fields.join(', ')} }`]
  if (wantsLimit) lines.push('  #   max_output: limit of output tokens if the client sets none')
  if (variable === undefined && takesSecret) lines.push(`  #   if it needs a key: secret: { env: ${guess(name)} }`)
  return lines.join('\n')
}

function guess(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`
}

/** Models that routes choose by words of their own are the first upstream's that can serve them. */
function models(chosen: readonly Chosen[]): readonly string[] {
  const taken = new Set<string>()
  return chosen.flatMap(({ name, base, models, anyModel }) => {
    if (base?.startsWith('embedded:')) return [`  sim-text: ${name}`, `  "sim-*": ${name}`]
    const chosenByWord = [...models].filter(([model]) => !taken.has(model))
    for (const [model] of chosenByWord) taken.add(model)
    return [
      ...(anyModel ? [`  "${name}/*": { upstream: ${name}, as: "*" } # ${name}/NAME is NAME upstream`] : []),
      ...chosenByWord.map(([model, word]) => `  ${model}: ${name} # requests with ${word}`),
    ]
  })
}
