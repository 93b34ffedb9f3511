// What `cargo xtask` hands over, and the packages that it installed.

import { createRequire } from "node:module";
import { join } from "node:path";

/** The program under test. */
export const program = given("COUNTERSIGN_PROGRAM");

/** The folder for pictures, and for what is left of a scenario that failed. */
export const output = given("COUNTERSIGN_BROWSER_OUTPUT");

/** A PostgreSQL database that only these tests use. */
export const postgres = () => given("COUNTERSIGN_TEST_POSTGRES");

/** The library that gives a program another time. */
export const fakeClock = () => given("COUNTERSIGN_FAKE_CLOCK");

// The packages lie in the cache folder, where Node.js would not look for them.
const packages = createRequire(join(given("COUNTERSIGN_BROWSER_PACKAGES"), "package.json"));

export const { chromium } = packages("playwright-core");
export const { source: axeSource } = packages("axe-core");

function given(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run this with: cargo xtask browser, or cargo xtask docs`);
  return value;
}
