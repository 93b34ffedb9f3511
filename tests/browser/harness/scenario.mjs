// One behaviour of the console in a real browser.

import test from "node:test";
import { Browser } from "./browser.mjs";
import { House } from "./house.mjs";

/**
 * Runs `work` with a hotel and a browser of its own. It fails as well when anything unwanted happened in a page.
 * `settings` are those of House.open.
 */
export function scenario(name, work, settings) {
  test(name, async () => {
    const house = await House.open(settings);
    const browser = await Browser.open(house).catch(async (error) => {
      await house.close();
      throw error;
    });
    try {
      await work({ house, browser });
      browser.assertClean();
    } catch (error) {
      const kept = await browser.keep(name);
      console.error(`${name}\n  the pages: ${kept.join("\n  ")}\n  the server's log:\n${await house.log()}`);
      throw error;
    } finally {
      await browser.close();
      await house.close();
    }
  });
}
