// Writes docs/benchmarks.md, and the figures of README.md, from what the last runs of bench/run.mjs and bench/rivals.mjs left in bench/out/:
// result.json and rivals.json, and where there are any, tls.json (--tls), node24.json and node26.json (--out=node24, by that Node).
// usage: node bench/write-docs.mjs
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { benchmarksPage } from './benchmarks-page.mjs'
import { withFigures } from './readme-figures.mjs'

const read = name => JSON.parse(readFileSync(new URL(`out/${name}.json`, import.meta.url), 'utf8'))
const run = read('result')
const rivals = read('rivals')
const further = ['tls', 'node24', 'node26']
  .filter(name => existsSync(new URL(`out/${name}.json`, import.meta.url)))
  .map(read)

writeFileSync(new URL('../docs/benchmarks.md', import.meta.url), benchmarksPage(run, rivals, further))
const readme = new URL('../README.md', import.meta.url)
writeFileSync(readme, withFigures(readFileSync(readme, 'utf8'), run, rivals))
