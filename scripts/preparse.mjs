// Writes dist/preparsed.json: what the shipped YAML files say, so that a start need not parse and check them. Part of the build.
// A file that is edited later is recognised by its digest and read anew.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Files } from '../dist/config/files.js'
import { openFile } from '../dist/config/open.js'
import { ParsedFiles } from '../dist/config/parsed-files.js'
import { Report } from '../dist/config/report.js'
import { fileValidator } from '../dist/config/validators.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const TYPES = {
  routes: 'routes',
  'routes/kinds': 'kind',
  'routes/tasks': 'routes',
  'routes/more': 'routes',
  'routes/prices': 'prices',
}

const known = {}
for (const [folder, type] of Object.entries(TYPES)) {
  // Validators of before a new type: `npm run generate` makes them from this build.
  if (fileValidator(type) === undefined) continue
  for (const name of readdirSync(join(root, folder))) {
    if (!name.endsWith('.yaml')) continue
    const budget = { characters: Number.POSITIVE_INFINITY }
    const context = { files: new Files(), parsed: new ParsedFiles(), report: new Report(), budget }
    const file = join(root, folder, name)
    const document = openFile(file, type, false, context)
    if (document === undefined || context.report.sorted().length > 0) continue
    known[`${folder}/${name}`] = {
      type,
      digest: context.files.digestOf(file),
      json: JSON.stringify(document.tree.value),
    }
  }
}
writeFileSync(join(root, 'dist/preparsed.json'), JSON.stringify(known))
