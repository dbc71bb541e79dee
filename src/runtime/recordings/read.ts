import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { parseForeignYaml } from '../../config/foreign-yaml.js'
import type { Json } from '../../core/json.js'
import { StartError } from '../problems.js'
import type { PlayedExchange } from './exchange.js'
import { documentsOfLines, exchangesOf } from './formats.js'

/** Most exchanges of one upstream, and most bytes of their files. */
const MAX_EXCHANGES = 100_000
const MAX_BYTES = 512 * 1024 * 1024
/** Most files that are looked at. */
const MAX_FILES = 100_000
const FILES = /\.(json|jsonl|ya?ml|har)$/

/** Reads all recordings of a folder and of those in it, or of one file. Throws {@link StartError}. */
export async function readExchanges(from: string): Promise<readonly PlayedExchange[]> {
  const exchanges: PlayedExchange[] = []
  let bytes = 0
  for (const file of await filesOf(from)) {
    const name = relative(from, file) || file
    const text = await readFile(file, 'utf8')
    bytes += text.length
    if (bytes > MAX_BYTES) throw new StartError(`recordings: ${from} has more than ${MAX_BYTES} bytes`)
    const documents = documentsOf(text, file, name)
    for (const document of documents) exchanges.push(...exchangesOf(document, name))
    if (exchanges.length > MAX_EXCHANGES)
      throw new StartError(`recordings: ${from} has more than ${MAX_EXCHANGES} exchanges`)
  }
  if (exchanges.length === 0) throw new StartError(`recordings: no exchange was found in ${from}`)
  return exchanges
}

/** In the order of their names. Those that begin with a dot are not finished. */
async function filesOf(from: string): Promise<readonly string[]> {
  const about = await stat(from).catch(() => undefined)
  if (about === undefined) throw new StartError(`recordings: there is no folder or file ${from}`)
  if (about.isFile()) return [from]
  const found = await readdir(from, { recursive: true, withFileTypes: true })
  const files = found.filter(one => one.isFile() && !one.name.startsWith('.') && FILES.test(one.name))
  if (files.length > MAX_FILES) throw new StartError(`recordings: ${from} has more than ${MAX_FILES} files`)
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort()
}

function documentsOf(text: string, file: string, name: string): readonly Json[] {
  try {
    if (file.endsWith('.jsonl')) return documentsOfLines(text)
    return [/\.ya?ml$/.test(file) ? parseForeignYaml(text) : (JSON.parse(text) as Json)]
  } catch (cause) {
    throw new StartError(`recordings: ${name} cannot be read: ${cause instanceof Error ? cause.message : cause}`)
  }
}
