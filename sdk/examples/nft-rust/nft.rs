// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! Runs nft(8) on the table of one family.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sluice_abi as abi;

use super::model::Failure;
use super::netfilter_socket;
use super::ruleset::{parse, Ruleset};

pub struct Nft {
    /// "ip sluice-nft-rust"
    pub table: String,
    /// for a file with commands
    pub folder: PathBuf,
    /// the time that nft took so far
    pub waited: Duration,
}

impl Nft {
    /// The content of the table; None if it does not exist. Numbers instead of names, and without counters.
    pub fn list(&mut self) -> Result<Option<Ruleset>, Failure> {
        match self.run(&format!("-n -s list table {}", self.table), Stdio::null()) {
            Ok(listing) => Ok(Some(parse(&listing))),
            Err(failure) if failure.message.contains("No such file or directory") && failure.code == abi::CODE_KERNEL => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// A number that the kernel changes with each change of any table in this network namespace; None if it is unknown.
    pub fn generation(&self) -> Option<u32> {
        // A nlmsghdr with the type NFT_MSG_GETGEN of NFNL_SUBSYS_NFTABLES and the flag NLM_F_REQUEST, and a nfgenmsg. The
        // answer has the attribute NFTA_GEN_ID behind them.
        let (request_type, answer_type) = ((10u16 << 8 | 16).to_ne_bytes(), (10u16 << 8 | 15).to_ne_bytes());
        let mut request = [0; 20];
        request[..4].copy_from_slice(&20u32.to_ne_bytes());
        request[4..6].copy_from_slice(&request_type);
        request[6..8].copy_from_slice(&1u16.to_ne_bytes());
        let mut answer = [0; 256];
        let mut socket = netfilter_socket().ok()?;
        socket.write_all(&request).ok()?;
        let size = socket.read(&mut answer).ok()?;
        let known = size >= 28 && answer[4..6] == answer_type && answer[22..24] == 1u16.to_ne_bytes();
        if known { Some(u32::from_be_bytes(answer[24..28].try_into().ok()?)) } else { None }
    }

    /// Executes all commands or none: nft makes one transaction of them.
    pub fn load(&mut self, commands: &[String]) -> Result<(), Failure> {
        self.execute("-f -", commands)
    }

    /// Whether nft and the kernel would accept the commands.
    pub fn check(&mut self, commands: &[String]) -> Result<(), Failure> {
        self.execute("--check -f -", commands)
    }

    /// nft reads a complete file. If a pipe broke, because the daemon is killed, nft would execute the first part.
    fn execute(&mut self, arguments: &str, commands: &[String]) -> Result<(), Failure> {
        let path = self.folder.join(format!("{}.nft", self.table.replace(' ', "-")));
        let written = || -> io::Result<File> {
            fs::write(&path, commands.join("\n") + "\n")?;
            File::open(&path)
        };
        let file = written().map_err(|error| Failure::of(&path.display().to_string(), &error))?;
        let _ = fs::remove_file(&path);
        self.run(arguments, Stdio::from(file)).map(|_| ())
    }

    /// Returns the output. The standard library starts children with no signal blocked, and waits for this one only.
    fn run(&mut self, arguments: &str, input: Stdio) -> Result<String, Failure> {
        let begin = Instant::now();
        let done = Command::new("nft").args(arguments.split(' ')).env("LC_ALL", "C").stdin(input).output();
        self.waited += begin.elapsed();
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::new(abi::CODE_UNSUPPORTED, "nft", "not found in PATH; install nftables"))
            }
            Err(error) => Err(Failure::of("nft", &error)),
            Ok(done) if done.status.success() => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                let code = if said.contains("Operation not permitted") { abi::CODE_DENIED } else { abi::CODE_KERNEL };
                Err(Failure::new(code, &format!("nft {}", arguments), said.trim()))
            }
        }
    }
}
