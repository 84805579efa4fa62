# The command, the gateway and the C library. `nix build .` and `nix develop`.
{
  description = "A streaming parser for the tool calls that language models write into their text";

  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let
      version = "0.1.0";
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: builtins.listToAttrs (map (name: { inherit name; value = make nixpkgs.legacyPackages.${name}; }) systems);
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "toolglot";
          inherit version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "toolglot-cli" "-p" "toolglot-gateway" "-p" "toolglot-c" ];
          # ci/all.sh runs the tests, with tools that no sandbox has.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            rm -f $out/lib/*
            bash bindings/c/install.sh $out target/*/release
            $out/bin/toolglot man --dir .
            $out/bin/toolglot-gateway --man > toolglot-gateway.1
            installManPage toolglot*.1
            for shell in bash zsh fish; do $out/bin/toolglot completions $shell > toolglot.$shell; done
            installShellCompletion toolglot.{bash,zsh,fish}
          '';
          meta = {
            description = "A streaming parser for the tool calls that language models write into their text";
            license = [ pkgs.lib.licenses.asl20 pkgs.lib.licenses.mit ];
            mainProgram = "toolglot";
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = [ pkgs.cargo pkgs.clippy pkgs.rustfmt pkgs.cmake pkgs.pkg-config pkgs.go pkgs.nodejs pkgs.python3 ]; };
      });
    };
}
