import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { needsBrowser, openConsole } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const run = promisify(execFile)
const KEY = 'the-key-of-the-caller-0123456789'

t.test('the playground', async t => {
  const test = await openConsole(t)
  const { page, gateway, said } = test
  await test.signIn()
  const answer = (name: string) => page.locator(`[data-answer="${name}"]`)
  const start = page.getByRole('button', { name: /^Run/ })
  const user = page.getByRole('textbox', { name: 'User' })

  await t.test('tools are called by each protocol', async t => {
    await test.open('/play?model=sim-text&view=protocols')
    await page.getByText('Tools, structured output, files and reasoning').click()
    await page.getByRole('button', { name: 'Put in an example' }).first().click()
    await user.fill('What is the weather in Paris?')
    await start.click()
    for (const name of ['chat', 'responses', 'messages', 'generate', 'converse'])
      await page
        .getByRole('region', { name, exact: true })
        .getByText(/get_weather.*Paris/)
        .first()
        .waitFor()
    t.same(await test.axe(), [], 'axe finds nothing on it')
    await test.picture('play-tools')
  })

  await t.test('answers fit a schema, models reason, and pictures go along', async t => {
    await test.open('/play?model=sim-text')
    await page.getByText('Tools, structured output, files and reasoning').click()
    await page.getByRole('button', { name: 'Put in an example' }).last().click()
    await page.getByRole('checkbox', { name: 'stream' }).uncheck()
    await start.click()
    await answer('chat').getByText('"greeting"').waitFor()
    t.match(JSON.parse(await answer('chat').innerText()), { greeting: String, words: Number })
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByLabel('Reasoning').selectOption('low')
    const made = await gateway.request('/v1/images/generations', {
      method: 'POST',
      body: { model: 'sim-image', prompt: 'A lighthouse', size: '256x256' },
    })
    const { data } = made.json() as { readonly data: readonly { readonly b64_json: string }[] }
    const buffer = Buffer.from(data[0]?.b64_json ?? '', 'base64')
    await page.getByLabel('Images, sounds and files').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    await page.getByRole('button', { name: 'image: a.png' }).waitFor()
    const [sent] = await Promise.all([page.waitForRequest(/admin\/play/), start.click()])
    t.match(sent.postDataJSON(), {
      json: { reasoning_effort: 'low', messages: [{ content: [{ type: 'text' }, { type: 'image_url' }] }] },
    })
    await page.getByText(/^Reasoning, \d+ characters$/).waitFor()
  })

  await t.test('models are compared side by side', async t => {
    await test.open('/play?model=sim-text&view=models')
    await page.getByLabel('And, with commas between').fill('sim-messages')
    await page.getByRole('button', { name: /Run 2 requests/ }).click()
    for (const name of ['sim-text', 'sim-messages'])
      await page
        .getByRole('region', { name, exact: true })
        .getByText(/all \d/)
        .waitFor()
    t.equal(await answer('chat').filter({ hasText: /\w/ }).count(), 2)
  })

  await t.test('each try as code, which runs', async t => {
    await test.open('/play?model=sim-text&view=protocols')
    await page.getByText('translated to chat').first().waitFor()
    for (const summary of await page.getByText('Code', { exact: true }).all()) await summary.click()
    const languages: string[] = []
    // In this package, where the libraries are.
    const folder = t.testdir()
    for (const place of await page.locator('[data-code]').all()) {
      const language = (await place.getAttribute('data-code')) ?? ''
      // The port of this gateway was chosen by the system.
      const program = (await place.locator('pre').innerText()).replaceAll('http://127.0.0.1:0', gateway.origin)
      languages.push(language)
      const env = { ...process.env, GATEWAY_KEY: KEY }
      if (/Python/.test(language)) continue
      if (language === 'curl') {
        const { stdout } = await run('sh', ['-c', `${program.replace(/^curl/, 'curl -sS --fail-with-body')}`], { env })
        t.match(stdout, /\w/, `${language}: ${program}`)
        continue
      }
      const file = join(folder, `${languages.length}.mjs`)
      writeFileSync(file, program)
      const { stdout } = await run(process.execPath, [file], { env, cwd: packageRoot() })
      t.match(stdout, /\w{3}/, language)
    }
    t.same([...new Set(languages)].toSorted(), [
      'anthropic (Node)',
      'anthropic (Python)',
      'aws-sdk (Node)',
      'boto3 (Python)',
      'curl',
      'genai (Node)',
      'genai (Python)',
      'openai (Node)',
      'openai (Python)',
    ])
  })

  await t.test('what the microphone hears is transcribed', async t => {
    await test.open('/play?operation=transcription')
    await page.getByRole('button', { name: 'Record' }).click()
    await page.getByRole('button', { name: /^Stop recording, [1-9]/ }).click()
    await page.getByLabel('What will be sent: recording.wav').waitFor()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('p.answer').waitFor()
    t.match(await page.locator('p.answer').innerText(), /\w/)
  })

  await t.test('an image task is followed until its picture is there', async () => {
    await test.open('/play?operation=drawing')
    await page.getByLabel('Model').fill('sim-imagine?polls=1')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('img.made').waitFor()
  })
  t.same(said, [], 'the browser has nothing to say')
})
