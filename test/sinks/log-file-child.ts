import { LineWriter } from '../../src/sinks/line-writer.js'
import { RotatedFile } from '../../src/sinks/log-file.js'
import { failLinks } from './failing-link.js'

// Writes numbered lines to a file of the log: config, number of the process, count of lines, and how links fail.
const [config = '{}', number = '0', count = '0', code] = process.argv.slice(2)
if (code !== undefined) failLinks(code)
const writer = new LineWriter(new RotatedFile(JSON.parse(config)), 2048)
for (let i = 0; i < Number(count); i++) {
  writer.write(`${number} ${i} ${'x'.repeat(80)}\n`)
  if (i % 40 === 0) await new Promise(resolve => setTimeout(resolve, 2))
}
await writer.close()
process.exitCode = writer.dropped === 0 ? 0 : 1
