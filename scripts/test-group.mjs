// Runs compiled test files one after the other in this process, which shares what they load and what the engine has compiled:
// it halves the time that short files take. TEST_FILES names them, separated by commas; see scripts/test.mjs.
//
// The test library has one root for a process. A subtest that is named as below ends what a file has declared; what the file
// says of the root (its time-out, what to tear down) holds until then.
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { END_OF_FILE } from './test-words.mjs'

const files = process.env.TEST_FILES.split(',')
// Tests hand their environment on.
delete process.env.TEST_FILES

let endings = []
t.teardown = ending => {
  endings.push(ending)
}

for (const file of files) {
  t.setTimeout(Number(process.env.TAP_TIMEOUT) * 1000)
  await import(pathToFileURL(file).href)
  await new Promise(ended => t.test(END_OF_FILE, async () => ended()))
  const ofFile = endings.reverse()
  endings = []
  for (const ending of ofFile) await ending()
}
