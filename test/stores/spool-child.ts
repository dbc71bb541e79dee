import { Spooler } from '../../src/stores/spool.js'

/** Holds a body in a file, says so, and waits to be killed. */
const [, , folder = ''] = process.argv
const spool = new Spooler({ folder, body: 0, memory: 0, disk: 1e9 }).open('a')
await spool.write(Buffer.alloc(1024 * 1024))
process.stdout.write(`${spool.length}\n`)
setInterval(() => undefined, 1000)
